package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		check.Must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	tools := file("tools.json", `[{"tools":{"mail":{"tools":[
		{"name":"send_letter","description":"Sends a letter.","inputSchema":{"type":"object"}},
		{"name":"read_mail","description":"Reads mail.","inputSchema":{"type":"object"}}]}}}]`)
	tasks := file("tasks.json", `[
		{"Annotator Metadata":{"Steps":"1. send a letter\n2. read the mail\n3. dance","Tools":"1. send_letter\n2. read_mail\n3. dance"}},
		{"Annotator Metadata":{"Steps":"1) letter","Tools":"1) read_mail"}},
		{"Annotator Metadata":{"Steps":"1. letter","Tools":"1. read_mail\n2. send_letter"}}]`)
	var out bytes.Buffer
	check.Must(t, measure(tools, tasks, &out))
	want := "2 tools\nodd tasks, 2 steps: @1 1.000, @3 1.000, @5 1.000, @10 1.000, MRR@10 1.000\n" +
		"even tasks, 1 steps: @1 0.000, @3 0.000, @5 0.000, @10 0.000, MRR@10 0.000\n"
	check.Equal(t, "the output", out.String(), want)
	check.Fails(t, measure(tools, filepath.Join(dir, "none"), &out), "got no error for a file that is not there")
}
