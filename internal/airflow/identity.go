// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxIDLength bounds a Dag id, a run id and a task id, in characters.
	MaxIDLength = 250
	// MaxOwnerLength bounds an owner, in characters: the longest that a Dag run
	// can have.
	MaxOwnerLength = MaxIDLength + len("/") + MaxIDLength
)

// DagRun names one run of one Dag.
type DagRun struct{ DagID, RunID string }

// Owner is the run as Airflow writes it into TagOwner.
func (r DagRun) Owner() string { return r.DagID + "/" + r.RunID }

// TaskInstance names one task of a run. There is no try number in it: the
// retry of a task is the same holder.
type TaskInstance struct {
	DagRun
	TaskID   string
	MapIndex int // -1: not mapped
}

// Holder is the task instance as Airflow writes it into TagHolder.
func (t TaskInstance) Holder() string {
	holder := t.Owner() + "/" + t.TaskID
	if t.MapIndex >= 0 {
		holder += "[" + strconv.Itoa(t.MapIndex) + "]"
	}
	return holder
}

// defaultRunID is the default of [scheduler] allowed_run_id_pattern, which
// Airflow 3.3.2 applies to generated run ids too.
var defaultRunID = regexp.MustCompile(`^[A-Za-z0-9_.~:+-]+$`)

// CheckDagID refuses what Airflow does not take as a Dag id.
func CheckDagID(id string) error {
	if !isKey(id) {
		return fmt.Errorf("%s cannot be a Dag id: it is 1 to %d letters, digits, underscores, dots and dashes", abbreviate(id), MaxIDLength)
	}
	return nil
}

// CheckRunID refuses what Airflow does not take as a run id by default. A
// deployment may loosen its pattern; the owner of such a run is written as a
// plain string.
func CheckRunID(id string) error {
	if utf8.RuneCountInString(id) > MaxIDLength || !defaultRunID.MatchString(id) || strings.Contains(id, "..") {
		return fmt.Errorf("%s cannot be a run id: it is 1 to %d letters, digits and _ . ~ : + - without two dots in a row; "+
			"if your deployment allows more, write the owner as a string", abbreviate(id), MaxIDLength)
	}
	return nil
}

// ParseOwner reads an owner as a Dag run. A run id may hold anything a
// loosened deployment allows, slashes included, so that the first slash ends
// the Dag id. False: no Dag run can have this owner, in particular where a ':'
// stands before the first slash. True is no proof that there is such a run.
func ParseOwner(owner string) (DagRun, bool) {
	dagID, runID, ok := strings.Cut(owner, "/")
	if !ok || !isKey(dagID) || !isRunID(runID) {
		return DagRun{}, false
	}
	return DagRun{dagID, runID}, true
}

// ParseHolder reads a holder as a task instance: the first slash ends the Dag
// id, the last one begins the task id, a trailing "[digits]" is the map index.
// False: no task instance can have this name.
func ParseHolder(holder string) (TaskInstance, bool) {
	rest, mapIndex := cutMapIndex(holder)
	slash := strings.LastIndexByte(rest, '/')
	if slash < 0 || !isKey(rest[slash+1:]) {
		return TaskInstance{}, false
	}
	run, ok := ParseOwner(rest[:slash])
	if !ok {
		return TaskInstance{}, false
	}
	return TaskInstance{run, rest[slash+1:], mapIndex}, true
}

// cutMapIndex takes "[7]" off the end. What Airflow does not write, such as
// "[07]", stays, and is then no task id.
func cutMapIndex(holder string) (rest string, mapIndex int) {
	inner, ok := strings.CutSuffix(holder, "]")
	open := strings.LastIndexByte(inner, '[')
	if !ok || open < 0 {
		return holder, -1
	}
	index, err := strconv.Atoi(inner[open+1:])
	if err != nil || strconv.Itoa(index) != inner[open+1:] || index < 0 {
		return holder, -1
	}
	return inner[:open], index
}

// CheckOwner refuses what must not be stamped as an owner. An owner that is not
// a Dag run's should hold a ':' before any slash, as "terraform:prod/analysis":
// no Dag id can, so that it is never taken for a run.
func CheckOwner(owner string) error {
	switch {
	case owner == "":
		return errors.New("an owner must not be empty; leave it out instead")
	case !utf8.ValidString(owner):
		return errors.New("the owner is not valid UTF-8")
	case utf8.RuneCountInString(owner) > MaxOwnerLength:
		return fmt.Errorf("an owner of %d characters is longer than %d, the longest a Dag run can have", utf8.RuneCountInString(owner), MaxOwnerLength)
	case strings.ContainsFunc(owner, breaksLine):
		return fmt.Errorf("the owner %q holds a newline or another control character", owner)
	}
	return nil
}

// isKey follows Airflow's rule for Dag and task ids: word characters of any
// script, dots and dashes.
func isKey(id string) bool {
	foreign := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '_' && r != '.' && r != '-'
	}
	return id != "" && utf8.ValidString(id) && utf8.RuneCountInString(id) <= MaxIDLength && !strings.ContainsFunc(id, foreign)
}

func isRunID(id string) bool {
	return id != "" && utf8.ValidString(id) && utf8.RuneCountInString(id) <= MaxIDLength && !strings.ContainsFunc(id, breaksLine)
}

func breaksLine(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// abbreviate quotes s so that it fits into one line of an error.
func abbreviate(s string) string {
	const most = 80
	if runes := []rune(s); len(runes) > most {
		return fmt.Sprintf("%q…", string(runes[:most]))
	}
	return strconv.Quote(s)
}
