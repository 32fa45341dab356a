package mcpclient

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/results"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// addResults adds the results of all transcripts to the seeds.
func addResults(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	check.Require(f, err == nil && len(files) != 0, "no transcripts to begin with:  %v", err)
	for _, file := range files {
		data := check.Value(os.ReadFile(file))(f)
		for _, section := range txtar.Parse(data).Files {
			for line := range bytes.Lines(section.Data) {
				var m struct{ Result json.RawMessage }
				if json.Unmarshal(line, &m) == nil && len(m.Result) > 0 {
					f.Add([]byte(m.Result))
				}
			}
		}
	}
}

func object(raw []byte) (m map[string]json.RawMessage) { _ = json.Unmarshal(raw, &m); return m }
func array(raw []byte) (a []json.RawMessage)           { _ = json.Unmarshal(raw, &a); return a }
func text(raw []byte) (s string)                       { _ = json.Unmarshal(raw, &s); return s }

// Hand-written decoders agree with encoding/json: they take the last of equal members, every item, and raw parts byte for byte.
func FuzzDecodeResult(f *testing.F) {
	addResults(f)
	f.Add([]byte(`{"tools":[{"name":"a"}],"tools":[{"name":"b"}],"contents":[],"contents":[{"uri":"a"}],"messages":[],"messages":[]}`))
	f.Add([]byte(`{"content":{"type":"text","text":"\ud83d"},"isError":null,"structuredContent":1e400,"_meta":{}}`))
	f.Add([]byte(`{"resources":[{"uri":"a","size":"12"},{"uri":"b","size":1.2e1,"annotations":{"audience":"user","priority":"0.5"}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		want := object(raw)
		verify := func(what string, got any, err error, same bool) {
			switch {
			case err != nil && len(err.Error()) > 8<<10:
				t.Errorf("%s: got an error of %d bytes", what, len(err.Error()))
			case err == nil && !same:
				t.Errorf("%s: got %+v of %s", what, got, raw)
			}
		}
		tools := &results.Page[mcp.Tool]{Key: "tools"}
		err := jsonrpc.DecodeResult(raw, tools)
		verify("tools", tools.Items, err, slices.EqualFunc(tools.Items, array(want["tools"]), func(tool *mcp.Tool, raw json.RawMessage) bool {
			m := object(raw)
			return tool.Name == text(m["name"]) && tool.Description == text(m["description"]) && bytes.Equal(tool.InputSchema, m["inputSchema"]) && bytes.Equal(tool.OutputSchema, m["outputSchema"])
		}))
		resources := &results.Page[mcp.Resource]{Key: "resources"}
		err = jsonrpc.DecodeResult(raw, resources)
		verify("resources", resources.Items, err, len(resources.Items) == len(array(want["resources"])))
		for _, r := range resources.Items {
			var read mcp.Resource
			once, _ := jsonrpc.Marshal(r)
			_ = json.Unmarshal(once, &read)
			again, _ := jsonrpc.Marshal(read)
			check.That(t, err != nil || once == nil || bytes.Equal(once, again), "resource: got %s the second time, want %s", again, once)
		}
		var called mcp.CallToolResult
		err = jsonrpc.DecodeResult(raw, &called)
		blocks := len(array(want["content"]))
		if bytes.HasPrefix(want["content"], []byte("{")) {
			blocks = 1
		}
		verify("tool result", called, err, len(called.Content) == blocks && bytes.Equal(called.StructuredContent, want["structuredContent"]) &&
			called.IsError == (string(want["isError"]) == "true") && bytes.Equal(called.Meta, want["_meta"]))
		var prompt mcp.GetPromptResult
		err = jsonrpc.DecodeResult(raw, &prompt)
		verify("prompt", prompt, err, prompt.Description == text(want["description"]) && len(prompt.Messages) == len(array(want["messages"])))
		var legacy results.Greeting
		err = jsonrpc.DecodeResult(raw, &legacy)
		verify("initialize", legacy, err, legacy.Revision == text(want["protocolVersion"]) && legacy.Server.Instructions == text(want["instructions"]))
		modern := results.Greeting{Modern: true}
		err = jsonrpc.DecodeResult(raw, &modern)
		verify("server/discover", modern, err, len(modern.Revisions) == len(array(want["supportedVersions"])) && modern.Server.Instructions == text(want["instructions"]))
		var read mcp.ReadResourceResult
		err = jsonrpc.DecodeResult(raw, &read)
		parts := array(want["contents"])
		verify("resource", read, err, err != nil || len(read.Contents) == len(parts))
		for i, part := range parts {
			if m := object(part); err == nil && (read.Contents[i].URI != text(m["uri"]) || m["blob"] == nil && read.Contents[i].Text != text(m["text"])) {
				t.Errorf("resource: got part %+v of %s", read.Contents[i], part)
			}
		}
	})
}

// A decoded task has an id, a known status, and times within bounds.
func FuzzTaskState(f *testing.F) {
	addResults(f)
	f.Add([]byte(`{"resultType":"task","taskId":"a","status":"working","ttlMs":-1e300,"pollIntervalMs":1e300}`))
	f.Add([]byte(`{"task":{"taskId":"a","status":"working","ttl":null,"pollInterval":0.5}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, e := range []era{&legacyEra{}, &modernEra{}} {
			created, isTask, createErr := e.decodeCreated(raw)
			polled, pollErr := e.decodePolled(raw)
			for _, state := range []struct {
				mcp.TaskState
				ok  bool
				err error
			}{{created, isTask, createErr}, {polled.state, true, pollErr}} {
				switch {
				case state.err != nil:
					check.That(t, len(state.err.Error()) <= 8<<10, "%T: got an error of %d bytes", e, len(state.err.Error()))
				case !state.ok:
				case state.ID == "" || !state.Status.Final() && state.Status != mcp.TaskWorking && state.Status != mcp.TaskInputRequired:
					t.Errorf("%T: got %+v of %s", e, state, raw)
				case state.PollInterval < 0 || state.TTL != nil && *state.TTL < 0 || state.PollInterval > 366*24*time.Hour:
					t.Errorf("%T: got times %v, %v of %s", e, state.PollInterval, state.TTL, raw)
				}
			}
		}
	})
}
