// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"
)

// patience is for busy machines: what is cut off answers at once.
const patience = 10 * time.Second

// dial is through when somebody answers at the address.
func dial(args []string) error {
	conn, err := net.DialTimeout(args[0], args[1], patience)
	if err != nil {
		return refused(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("hello")); err != nil {
		return refused(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	_, err = conn.Read(make([]byte, 16))
	return refused(err)
}

func interfaces([]string) error {
	all, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 {
			fmt.Println("there is", i.Name)
			return nil
		}
	}
	return refusedf("nothing but loopback")
}

// resolve asks a name server at args[0] for a name.
func resolve(args []string) error {
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", args[0])
	}}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := resolver.LookupHost(ctx, "sandbox.example")
	return refused(err)
}

// socket makes a socket of a family, by its number.
func socket(args []string) error {
	family, err := strconv.ParseUint(args[0], 0, 64)
	if err != nil {
		return err
	}
	_, _, errno := syscall.RawSyscall(syscall.SYS_SOCKET, uintptr(family), syscall.SOCK_STREAM, 0)
	return outcome(errno)
}

// smuggle hands standard output to whoever listens at a socket.
func smuggle(args []string) error {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: args[0], Net: "unix"})
	if err != nil {
		return err
	}
	defer conn.Close()
	_, _, err = conn.WriteMsgUnix([]byte("x"), syscall.UnixRights(1), nil)
	return err
}
