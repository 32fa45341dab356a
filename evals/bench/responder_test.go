package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestToolsAreOfTheSizeTheySay(t *testing.T) {
	a := newAnswers(legacy)
	total := 0
	for _, page := range a.pages() {
		total += len(page)
	}
	check.Equal(t, "bytes of tools", total, rawList)
	got := total / toolCount
	check.That(t, got >= 1500 && got <= 1700, "got %d bytes a tool, want about 1600", got)
}

// TestResponderAllocatesNothing: serve's allocations do not depend on the number of requests.
func TestResponderAllocatesNothing(t *testing.T) {
	a := newAnswers(modern)
	for _, r := range []floorRequest{
		{method: "tools/call", tool: smallTool, modern: true},
		{method: "tools/call", tool: mibTool, modern: true},
		{method: "tools/list", cursor: "page_07", modern: true},
		{method: "server/discover", modern: true},
	} {
		line := append(r.appendTo(nil, 12345), '\n')
		serve := func(times int) float64 {
			requests := bytes.Repeat(line, times)
			return testing.AllocsPerRun(5, func() { check.NoError(t, a.serve(bytes.NewReader(requests), io.Discard, 4<<10)) })
		}
		few, many := serve(10), serve(1000)
		check.That(t, many <= few, "%s: got %v allocations for 1000 requests, want the %v for 10", r.method, many, few)
	}
}

func TestResponderAnswersWhatCameTogether(t *testing.T) {
	var in, out bytes.Buffer
	for _, r := range []floorRequest{{method: "initialize"}, {method: "tools/list", cursor: "page_19"}, {method: "tools/call", tool: smallTool}} {
		in.Write(append(r.appendTo(nil, int64(in.Len()+1)), '\n'))
	}
	in.WriteString(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	check.Must(t, newAnswers(legacy).serve(&in, &out, 4<<10))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	check.Require(t, len(lines) == 3, "got %d answers, want 3:\n%s", len(lines), &out)
	for i, want := range []string{`"protocolVersion"`, `"tools":[`, `"text":`} {
		check.That(t, json.Valid([]byte(lines[i])) && strings.Contains(lines[i], want), "got answer %.200s, want one with %s", lines[i], want)
	}
}
