package talk

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/typist"
	"github.com/mcpchain/mcpchain/internal/check"
)

func TestMentioned(t *testing.T) {
	for text, want := range map[string][]string{
		"look at @a.go and (@b/c.md), @a.go": {"a.go", "b/c.md),"}, `@"my file.txt" x@example.com @`: {"my file.txt"},
		"@demo:demo://menu?": {"demo:demo://menu?"}, "no mention": nil,
	} {
		check.Same(t, text, mentions(text), want)
	}
}

// attachmentsOf returns the attachments of a conversation without servers.
func attachmentsOf(t *testing.T, s *typist.Screen) *attachments {
	t.Helper()
	tools := check.Value(adapter.Open(t.Context(), nil, nil))(t)
	t.Cleanup(func() { tools.Close() })
	return &attachments{screen: s, offers: &offers{all: &Servers{toolset: tools}}}
}

// Mentioned files become part of the question, within bounds.
func TestAttached(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		check.Must(t, os.WriteFile(path, data, 0o600))
		return path
	}
	png := append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 50)...)
	for name, tt := range map[string]struct {
		path string
		want string // at the end of the second part, or of the error
		kind run.PartType
	}{
		"text":        {file("a.txt", []byte("one\ntwo\x1b[2J\n")), "a.txt\", which the user attached:\n```\none\ntwo\n```", run.PartText},
		"fence":       {file("b.md", []byte("```\ncode\n```\n")), "attached:\n````\n```\ncode\n```\n````", run.PartText},
		"long":        {file("c.txt", bytes.Repeat([]byte("ä"), maxAttachedText)), ", cut after 100.0 KiB:\n```\n" + strings.Repeat("ä", maxAttachedText/2) + "\n```", run.PartText},
		"picture":     {file("d.png", png), "", run.PartImage},
		"big picture": {file("e.png", append(png, make([]byte, maxPicture)...)), "the picture has more than 5.0 MiB", ""},
		"binary":      {file("f.bin", []byte("MZ\x00\x01")), "neither a text nor a picture (PNG, JPEG, GIF, WebP)", ""},
		"punctuation": {filepath.Join(dir, "a.txt") + ".", "one\ntwo\n```", run.PartText},
		"no file":     {filepath.Join(dir, "none"), "", "none"},
		"directory":   {dir, "", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			s := typist.New(t)
			m, err := attachmentsOf(t, s).message(t.Context(), "See @"+tt.path)
			switch {
			case tt.kind == "":
				check.That(t, err != nil && strings.HasSuffix(err.Error(), tt.want), "got %v, want %s", err, tt.want)
			case err != nil:
				t.Error(err)
			case tt.kind == "none":
				check.Equal(t, "parts: the question alone", len(m.Parts), 1)
				check.That(t, strings.Contains(s.Text(), "not attached: @"+tt.path), "got %q, want a note", s.Text())
			case len(m.Parts) != 2 || m.Parts[1].Type != tt.kind || !strings.HasSuffix(m.Parts[1].Text, tt.want):
				t.Errorf("got %+v, want a part with %.200q at its end", m.Parts[1:], tt.want)
			}
		})
	}
	many := ""
	for i := range maxAttachments + 1 {
		many += " @" + file(strings.Repeat("x", i+1), []byte("x"))
	}
	check.Text(t, check.Err(attachmentsOf(t, typist.New(t)).message(t.Context(), many)), "at most 20")
}

// The person is asked before a hidden file, or one outside of the folder, goes to the model.
func TestAttachedFromElsewhere(t *testing.T) {
	elsewhere, here := t.TempDir(), t.TempDir()
	t.Chdir(here)
	for _, path := range []string{filepath.Join(elsewhere, "a.txt"), filepath.Join(here, ".env"), filepath.Join(here, "b.txt")} {
		check.Must(t, os.WriteFile(path, []byte("text"), 0o600))
	}
	check.Must(t, os.Symlink(filepath.Join(elsewhere, "a.txt"), filepath.Join(here, "link")))
	for _, tt := range []struct {
		name, answer string
		parts        int
	}{
		{filepath.Join(elsewhere, "a.txt"), "n", 1}, {filepath.Join(elsewhere, "a.txt"), "y", 2},
		{".env", "n", 1}, {".env", "y", 2}, {"link", "n", 1}, {"b.txt", "", 2},
	} {
		m, err := attachmentsOf(t, typist.New(t, tt.answer)).message(t.Context(), "See @"+tt.name)
		check.That(t, err == nil && len(m.Parts) == tt.parts, "%s, %q: got %d parts, %v, want %d", tt.name, tt.answer, len(m.Parts), err, tt.parts)
	}
}

// A script attaches no files, because its text may come from somebody else.
func TestScriptsAttachNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	check.Must(t, os.WriteFile(path, []byte("secret"), 0o600))
	m, err := attachmentsOf(t, typist.Absent(t)).message(t.Context(), "See @"+path)
	check.That(t, err == nil && len(m.Parts) == 1, "got %v, %v; want the question alone", m.Parts, err)
}
