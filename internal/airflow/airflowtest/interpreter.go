// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflowtest

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Interpreter returns the path of a Python that has the pinned Airflow and Modal's
// pinned client. The first call on a machine makes their environment.
func Interpreter(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(here(), "../../../scripts/venv.sh"))
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("make the Python environment: %w\n%s", err, &complaints)
	}
	return strings.TrimSpace(string(out)), nil
}

// here is the directory of this file.
func here() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}
