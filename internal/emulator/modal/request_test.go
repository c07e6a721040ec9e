// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/protobuf/encoding/protojson"
)

// matchesSaw compares what a client saw with the record, in which <words> stand
// for what differs each time and three dots for the rest.
func matchesSaw(saw, recorded string) bool {
	pattern := regexp.QuoteMeta(recorded)
	pattern = regexp.MustCompile(`"?<[A-Za-z0-9_ ]+>"?`).ReplaceAllStringFunc(pattern, func(hole string) string {
		if hole == "<nil>" {
			return hole
		}
		return ".+"
	})
	if rest, cut := strings.CutSuffix(pattern, `\.\.\.`); cut {
		pattern = rest + ".*"
	}
	return regexp.MustCompile(`(?s)^` + pattern + `$`).MatchString(saw)
}

// asks reports whether a call has the recorded request.
func (c recordedCall) asks(call *Call) bool {
	method, _, _ := strings.Cut(c.text, "!")
	return call.Method == method && call.Request != nil && matches(requestOf(call), any(c.request))
}

func requests(calls []*Call) string {
	var all strings.Builder
	for _, call := range calls {
		if call.Request != nil {
			fmt.Fprintf(&all, "%s %v\n", call.Method, requestOf(call))
		}
	}
	return all.String()
}

// requestOf writes a request as the record does: as JSON without the ids that
// every call has, with tags as a map and enumerations without their prefix.
func requestOf(call *Call) any {
	data, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(call.Request)
	if err != nil {
		return err
	}
	var request map[string]any
	if err := json.Unmarshal(data, &request); err != nil {
		return err
	}
	for _, id := range []string{"sandbox_id", "task_id", "exec_id"} {
		delete(request, id)
	}
	if tags, ok := request["tags"].([]any); ok {
		byName := make(map[string]any)
		for _, tag := range tags {
			name, _ := tag.(map[string]any)["tag_name"].(string)
			byName[name] = tag.(map[string]any)["tag_value"]
		}
		request["tags"] = byName
	}
	for field, value := range request {
		if text, ok := value.(string); ok {
			request[field] = strings.TrimPrefix(text, "TASK_EXEC_"+strings.ToUpper(field)+"_")
		}
	}
	if call.Method == "TaskExecStdioRead" {
		request = map[string]any{"fd": "stdout"}
		if call.Request.(*pb.TaskExecStdioReadRequest).GetFileDescriptor() == pb.TaskExecStdioFileDescriptor_TASK_EXEC_STDIO_FILE_DESCRIPTOR_STDERR {
			request["fd"] = "stderr"
		}
	}
	return request
}

// matches compares JSON values; a recorded text may hold <words>.
func matches(got, recorded any) bool {
	switch recorded := recorded.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !ok || len(fields) != len(recorded) {
			return false
		}
		for name, value := range recorded {
			if !matches(fields[name], value) {
				return false
			}
		}
		return true
	case []any:
		items, ok := got.([]any)
		return ok && slices.EqualFunc(items, recorded, matches)
	case string:
		return matchesSaw(fmt.Sprint(got), recorded)
	}
	return got == recorded
}
