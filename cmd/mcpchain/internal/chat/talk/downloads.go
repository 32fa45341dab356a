package talk

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/media"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// maxSaved is the most files that are saved from a result or resource.
const maxSaved = 10

// downloads saves the pictures, sounds and other files of servers.
type downloads struct {
	screen screen.Screen
	folder *media.Folder // nil in a script: nothing is saved
}

// saveResult saves the pictures, sounds and other files of a tool's result.
func (d *downloads) saveResult(e *agent.ToolEnd) {
	if e.Result.Raw == nil {
		return
	}
	var files [][]byte
	for _, c := range e.Result.Raw.Content {
		switch c := c.(type) {
		case *mcp.ImageContent:
			files = append(files, c.Data)
		case *mcp.AudioContent:
			files = append(files, c.Data)
		case *mcp.EmbeddedResource:
			if c.Resource.Blob != nil {
				files = append(files, c.Resource.Blob)
			}
		}
	}
	d.save(e.Server+" "+screen.CallName(&e.Call), files)
}

// save saves files, and says where they are or why one is not saved.
func (d *downloads) save(from string, files [][]byte) {
	if d.folder == nil {
		return
	}
	for i, data := range files {
		if i == maxSaved {
			d.screen.Note(screen.Warn, "  not saved: %s", cli.Plural(len(files)-maxSaved, "file"))
			return
		}
		path, err := d.folder.Save(from, data)
		if err != nil {
			d.screen.Note(screen.Warn, "  not saved: %s", hosttext.Line(err.Error(), 400))
			continue
		}
		d.screen.Note(screen.Faint, "  saved, %s:\n  %s",
			formatSize(int64(len(data))), hosttext.Escape(abbreviateHome(path)))
	}
}

// saveBlob saves a resource that is not text. It returns false if the resource is empty or too
// large, or there is no folder.
func (d *downloads) saveBlob(server, uri string, blob []byte) bool {
	if d.folder == nil || len(blob) == 0 || len(blob) > media.MaxFile {
		return false
	}
	d.save(fmt.Sprintf("%s %s", server, uri), [][]byte{blob})
	return true
}

// abbreviateHome replaces the home folder by ~.
func abbreviateHome(path string) string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	if rest, ok := strings.CutPrefix(path, dir+string(filepath.Separator)); ok {
		return filepath.Join("~", rest)
	}
	return path
}
