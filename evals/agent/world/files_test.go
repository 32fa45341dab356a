package world

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/internal/check"
)

// The directory of the server files is closed with its world: Windows removes no open directory.
func TestClose(t *testing.T) {
	w := New(t.TempDir())
	tools := check.Value(files(&stateFolder{w: w, dir: filepath.Join(w.dir, "files")}, &suite.Server{}))(t)
	write := &call{args: map[string]any{"path": "a/b", "content": ""}}
	check.NoError(t, check.Err(tools[1].run(write)))
	w.Close()
	check.Is(t, check.Err(tools[1].run(write)), os.ErrClosed)
}
