// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// AutoApprove is the flag with which nobody is asked, as in Terraform.
const AutoApprove = "auto-approve"

// ErrNoTerminal is the answer where nobody can be asked.
var ErrNoTerminal = errors.New("there is no terminal to ask on: say --" + AutoApprove)

// ErrDeclined is the answer of a person who did not say yes.
var ErrDeclined = errors.New("not approved; nothing was changed")

// Confirm asks on the terminal. Nil is a yes, and only the word "yes" is one. A
// signal that comes first ends the wait.
func Confirm(ctx context.Context, in *os.File, out io.Writer, question string) error {
	if !term.IsTerminal(int(in.Fd())) {
		return ErrNoTerminal
	}
	fmt.Fprintf(out, "%s Only \"yes\" is a yes: ", question)
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(in).ReadString('\n')
		line <- strings.TrimSpace(text)
	}()
	select {
	case text := <-line:
		if text != "yes" {
			return ErrDeclined
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
