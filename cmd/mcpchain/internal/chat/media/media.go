// Package media keeps pictures, sounds and other files of servers in a folder.
package media

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/private"
)

// Bounds of a folder. The oldest files are removed to make room.
const (
	MaxFile   = 20 << 20 // bytes of a file
	maxFiles  = 200
	maxFolder = 500 << 20 // bytes of all files
	maxSlug   = 60        // bytes of a file's name
)

// Folder keeps files that only the current user can read.
type Folder struct{ path string }

// NewFolder returns the folder at a path. It is created when a file is saved.
func NewFolder(path string) *Folder { return &Folder{path} }

// Save writes data, at most MaxFile bytes, to a new file, whose name has the time and a slug of from. The extension
// depends on the data only, not on what a peer says about it. It is an error if others can change the folder.
func (f *Folder) Save(from string, data []byte) (path string, err error) {
	defer func() {
		if err != nil {
			path, err = "", fmt.Errorf("keep a file: %w", err)
		}
	}()
	if len(data) == 0 || len(data) > MaxFile {
		return "", fmt.Errorf("it has %d bytes: want 1 to %d", len(data), MaxFile)
	}
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		return "", err
	}
	if err := private.CheckDir(f.path); err != nil {
		return "", err
	}
	if err := f.makeRoom(int64(len(data))); err != nil {
		return "", err
	}
	var random [3]byte
	_, _ = rand.Read(random[:]) // never fails
	name := time.Now().Format("20060102-150405-") + hex.EncodeToString(random[:]) + slug(from) + Extension(data)
	path = filepath.Join(f.path, name)
	return path, private.WriteFile(path, data)
}

// savedName matches the names of saved files.
var savedName = regexp.MustCompile(`^\d{8}-\d{6}-[0-9a-f]{6}[a-z0-9-]*\.[a-z0-9]+$`)

// makeRoom removes the oldest files until there is room for one of this size. Files with other names are not counted.
func (f *Folder) makeRoom(size int64) error {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool {
		return !e.Type().IsRegular() || !savedName.MatchString(e.Name())
	})
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return cmp.Compare(b.Name(), a.Name()) })
	for i, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // removed meanwhile
		}
		if size += info.Size(); size > maxFolder || i >= maxFiles-1 {
			if err := private.Remove(filepath.Join(f.path, e.Name())); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
	}
	return nil
}

// notSlug matches characters that a slug does not have.
var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

// slug returns a text as a part of a file name: lower-case letters, digits and hyphens, after a hyphen.
func slug(text string) string {
	text = strings.Trim(notSlug.ReplaceAllString(strings.ToLower(text), "-"), "-")
	if text = text[:min(len(text), maxSlug)]; text != "" {
		return "-" + text
	}
	return ""
}

// extensions has a file extension for each type that no program executes when a file is opened.
var extensions = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/bmp": ".bmp",
	"audio/wave": ".wav", "audio/mpeg": ".mp3", "audio/aiff": ".aiff", "audio/basic": ".au", "audio/midi": ".mid",
	"application/ogg": ".ogg", "video/mp4": ".mp4", "video/webm": ".webm", "application/pdf": ".pdf",
}

// Extension returns the file extension for data, .bin if its type is not known.
func Extension(data []byte) string {
	kind, _, _ := strings.Cut(http.DetectContentType(data), ";")
	switch {
	case extensions[kind] != "":
		return extensions[kind]
	case bytes.HasPrefix(data, []byte("fLaC")):
		return ".flac"
	case len(data) > 1 && data[0] == 0xff && data[1]&0xe6 == 0xe2: // a frame of MPEG audio, layer III
		return ".mp3"
	}
	return ".bin"
}
