// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// version is what a program says of itself.
type version struct {
	Program string `json:"program"`
	Version string `json:"version"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Go      string `json:"go"`
}

// AddVersion gives root the command version and the flag --version, which say
// the same. asJSON is asked when the command runs.
func AddVersion(root *cobra.Command, number string, asJSON func() bool) {
	v := version{root.Name(), number, runtime.GOOS, runtime.GOARCH, runtime.Version()}
	line := fmt.Sprintf("%s %s %s/%s %s", v.Program, v.Version, v.OS, v.Arch, v.Go)
	root.Version = line
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(&cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON() {
				return WriteJSON(cmd.OutOrStdout(), v)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), line)
			return err
		},
	})
}
