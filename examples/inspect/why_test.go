package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A first start by a program that installs the server gets the advice to wait longer, in the report and before
// a call. Another program does not.
func TestFirstStart(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links to this program need a privilege there")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, hint := range map[string]string{
		"npx": "; the first start by npx installs the server: try -timeout 3m", "uvx": "; the first start by uvx installs the server: try -timeout 3m", "node": "",
	} {
		program := filepath.Join(t.TempDir(), name)
		if err := os.Symlink(self, program); err != nil {
			t.Fatal(err)
		}
		file := servers(fmt.Sprintf(`"slow":{"command":%q,"env":{"MCPCHAIN_INSPECT_ROLE":"silent"}}`, program))
		_, out, _ := inspectFile(t, file, "-timeout", "50ms")
		_, _, stderr := inspectFile(t, file, "-timeout", "50ms", "-call", "x")
		for _, got := range []string{out, stderr} {
			if !strings.Contains(got, "not ready within 50ms (-timeout)") || !strings.HasSuffix(strings.TrimSpace(got), "gave no answer)"+hint) {
				t.Errorf("%s: got %s, want it with %q at the end", name, got, hint)
			}
		}
	}
}

// A URL where no server listens is told with what to do.
func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	status, out, _ := inspectFile(t, servers(fmt.Sprintf(`"web":{"url":"http://%s/mcp"}`, l.Addr())))
	if status != statusMissing || !strings.Contains(out, "; is the server running? check the URL\n") {
		t.Errorf("got %d, %s", status, out)
	}
}
