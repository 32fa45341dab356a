package media_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/media"
	"github.com/mcpchain/mcpchain/internal/check"
)

// Only the owner can read a file. Its name has only letters, digits and hyphens of a peer's text.
func TestSave(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "media")
	f := media.NewFolder(dir)
	data := []byte("\x89PNG\r\n\x1a\n and so on")
	path := check.Value(f.Save("../../Böse\x1b[2J server.exe", data))(t)
	name := filepath.Base(path)
	check.That(t, filepath.Dir(path) == dir && strings.HasSuffix(name, "-b-se-2j-server-exe.png"), "got %q, want a plain name in the folder", path)
	got, err := os.ReadFile(path)
	check.That(t, err == nil && bytes.Equal(got, data), "got %q, %v", got, err)
	info, err := os.Stat(path)
	check.That(t, err == nil && (runtime.GOOS == "windows" || info.Mode().Perm() == 0o600), "got %v, %v, want mode 0600", info.Mode(), err)
	for _, wrong := range [][]byte{nil, make([]byte, media.MaxFile+1)} {
		path, err := f.Save("x", wrong)
		check.That(t, err != nil, "got %q for %d bytes, want an error", path, len(wrong))
	}
}

// The newest files stay, and so do other files in the folder.
func TestRoom(t *testing.T) {
	dir := t.TempDir()
	check.Must(t, os.Chmod(dir, 0o700))
	other := filepath.Join(dir, "mine.png")
	check.Must(t, os.WriteFile(other, []byte("x"), 0o600))
	for i := range 250 {
		check.Must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("20200101-%06d-abcdef-x.png", i)), []byte("x"), 0o600))
	}
	path := check.Value(media.NewFolder(dir).Save("x", []byte("y")))(t)
	entries, err := os.ReadDir(dir)
	check.That(t, err == nil && len(entries) == 201, "got %d files, %v, want 200 and mine.png", len(entries), err)
	for _, want := range []string{other, path, filepath.Join(dir, "20200101-000249-abcdef-x.png")} {
		check.NoError(t, check.Err(os.Stat(want)))
	}
}

func TestExtension(t *testing.T) {
	for want, data := range map[string]string{
		".wav": "RIFF\x00\x00\x00\x00WAVEfmt ", ".mp3": "\xff\xfb\x90\x00", ".flac": "fLaC\x00", ".jpg": "\xff\xd8\xff\xe0",
		".bin": "<html><script>alert(1)</script>", ".pdf": "%PDF-1.7",
	} {
		check.Equal(t, data, media.Extension([]byte(data)), want)
	}
}
