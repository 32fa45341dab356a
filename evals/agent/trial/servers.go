package trial

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// dial returns the transport of a server. Unless the server runs in process, the transport plays its messages if the
// trial plays servers, or records them if the trial records and the server has no URL.
func (p *player) dial(ctx context.Context, label string, s *suite.Server) (mcpclient.Transport, error) {
	if s.InProcess == "" && p.Model.Servers {
		return p.tape.Play(label), nil
	}
	t, end, err := p.dialServer(ctx, label, s)
	if err == nil && end != nil {
		p.closes = append(p.closes, end)
	}
	if err == nil && p.Model.Record && s.InProcess == "" && s.URL == "" {
		t = p.tape.Record(label, t)
	}
	return t, err
}

// dialServer returns the transport of the server itself, and a function that ends the server after the trial, or nil.
func (p *player) dialServer(ctx context.Context, label string, s *suite.Server) (t mcpclient.Transport, end func() error, err error) {
	switch {
	case s.InProcess != "":
		return p.world.Pipe(label, s)
	case s.Dial != nil:
		return s.Dial(ctx, p.dir)
	case s.URL != "":
		return &mcpclient.HTTP{URL: s.URL}, nil, nil
	}
	t, err = p.command(s)
	return t, nil, err
}

// command returns the transport of a server that is a child process in the directory of the trial,
// and writes the files of its seed there.
func (p *player) command(s *suite.Server) (mcpclient.Transport, error) {
	in := func(text string) string { return strings.ReplaceAll(text, "${DIR}", p.dir) }
	c := &mcpclient.Command{Path: in(p.fromFolder(s.Command[0])), Dir: p.dir}
	for _, arg := range s.Command[1:] {
		c.Args = append(c.Args, in(p.fromFolder(arg)))
	}
	for name, value := range s.Env {
		c.Env = append(c.Env, name+"="+in(value))
	}
	for path, raw := range s.Seed {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, err
		}
		if err := seed(p.dir, path, text); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// fromFolder resolves a word that begins with ./ or ../ relative to the folder of the suite.
func (p *player) fromFolder(word string) string {
	first, _, _ := strings.Cut(filepath.ToSlash(word), "/")
	if p.Suite.Folder == "" || len(first) == len(word) || first != "." && first != ".." {
		return word
	}
	return filepath.Join(p.Suite.Folder, filepath.FromSlash(word))
}

// seed writes a file below a directory.
func seed(dir, path, text string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return root.WriteFile(path, []byte(text), 0o600)
}
