// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Command gotest runs go test with the arguments it is given and says honestly
// what happened: the closing line of each package, the output of what failed,
// how many tests passed, failed and were skipped. A skip that is not on the
// list of allowed ones, a figure that falls short and a run in which no test
// ran at all are failures.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	var options options
	flag.StringVar(&options.skipList, "allowed-skips", "", "`file` of lines \"PACKAGE.TEST reason\"")
	flag.BoolVar(&options.lenient, "lenient", false, "report skips that are not allowed, but do not fail for them")
	flag.BoolVar(&options.figures, "figures", false, "print the lines that begin with figure=, and fail for verdict=short")
	flag.StringVar(&options.tally, "tally", "", "`file` to which \"PASSED FAILED SKIPPED\" is appended")
	flag.Parse()
	if err := run(os.Stdout, options, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, options options, args []string) error {
	report, err := newReport(out, options)
	if err != nil {
		return err
	}
	command := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	command.Stderr = os.Stderr
	events, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	readErr := report.read(events)
	return report.finish(command.Wait(), readErr)
}
