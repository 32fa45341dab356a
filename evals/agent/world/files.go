package world

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpchain/mcpchain/evals/agent/suite"
)

// directory is the server files. [os.Root] confines it to its directory.
type directory struct{ root *os.Root }

// files returns the tools of the server files. Its seed has texts by path.
func files(p *stateFolder, s *suite.Server) ([]tool, error) {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return nil, err
	}
	p.w.mu.Lock()
	p.w.roots = append(p.w.roots, root)
	p.w.mu.Unlock()
	d := &directory{root}
	if err := Seed(root, s.Seed); err != nil {
		return nil, err
	}
	return []tool{
		{name: "read_file", about: "Reads a text file.", schema: object("path"), run: d.read},
		{name: "write_file", about: "Writes a text file, and its directories.", schema: object("path", "content"), writes: true, run: d.write},
		{name: "edit_file", about: "Replaces a text that occurs once in a file.", schema: object("path", "old", "new"), writes: true, run: d.edit},
		{name: "list_directory", about: "Lists the names in a directory; . is the root.", schema: object("path"), run: d.list},
		{name: "move_file", about: "Moves or renames a file.", schema: object("from", "to"), writes: true, run: d.move},
		{name: "delete_file", about: "Deletes a file for ever.", schema: object("path"), writes: true, run: d.delete},
		{name: "search_files", about: "Lists the files whose text has a word.", schema: object("word"), run: d.search},
	}, nil
}

// Seed writes files by path, whose texts are JSON strings.
func Seed(root *os.Root, files map[string]json.RawMessage) error {
	for path, raw := range files {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
		if err := Put(root, path, text); err != nil {
			return err
		}
	}
	return nil
}

// Put writes a file, and its directories.
func Put(root *os.Root, path, text string) error {
	if err := root.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return root.WriteFile(path, []byte(text), 0o600)
}

func (d *directory) read(c *call) (string, error) {
	data, err := d.root.ReadFile(c.text("path"))
	return string(data), err
}

func (d *directory) write(c *call) (string, error) {
	return "written", Put(d.root, c.text("path"), c.text("content"))
}

func (d *directory) edit(c *call) (string, error) {
	data, err := d.root.ReadFile(c.text("path"))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(data), c.text("old")); n != 1 {
		return "", fmt.Errorf("the text occurs %d times", n)
	}
	return "edited", Put(d.root, c.text("path"), strings.Replace(string(data), c.text("old"), c.text("new"), 1))
}

func (d *directory) list(c *call) (string, error) {
	dir, err := d.root.Open(c.text("path"))
	if err != nil {
		return "", err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(1000)
	var names []string
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	return strings.Join(names, "\n"), err
}

func (d *directory) move(c *call) (string, error) {
	if _, err := d.root.Stat(c.text("to")); err == nil {
		return "", errors.New("there is a file of the new name")
	}
	if err := d.root.MkdirAll(filepath.Dir(c.text("to")), 0o700); err != nil {
		return "", err
	}
	return "moved", d.root.Rename(c.text("from"), c.text("to"))
}

func (d *directory) delete(c *call) (string, error) {
	return "deleted", d.root.Remove(c.text("path"))
}

// search lists the files whose text has a word.
func (d *directory) search(c *call) (string, error) {
	var found []string
	err := fs.WalkDir(d.root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := d.root.ReadFile(path)
		if err == nil && strings.Contains(string(data), c.text("word")) {
			found = append(found, path)
		}
		return err
	})
	return strings.Join(found, "\n"), err
}
