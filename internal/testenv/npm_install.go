package testenv

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

const (
	// installTime bounds one npm ci.
	installTime = 5 * time.Minute

	// leftoverAge is the age at which a partly installed set is deleted.
	leftoverAge = 2 * installTime
)

// installNPM is InstallNPM in a folder of the cache, with errors. exec.ErrNotFound means that Node.js or npm is missing.
func installNPM(ctx context.Context, cache string, files fs.FS) (*NPM, error) {
	hash, err := contentHash(files)
	if err != nil {
		return nil, err
	}
	s := &NPM{dir: filepath.Join(cache, "npm-"+hash)}
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		err = s.install(ctx, cache, files)
		if err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	if s.node, err = s.findNode(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// contentHash names a set by its files and the platform.
func contentHash(files fs.FS) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, runtime.GOOS, runtime.GOARCH)
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		fmt.Fprintf(h, "%q %d\n%s", path, len(data), data)
		return err
	})
	return fmt.Sprintf("%x", h.Sum(nil))[:16], err
}

// install installs the set in a temporary folder, and renames the folder when it
// is complete. If several processes do so, the first wins.
func (s *NPM) install(ctx context.Context, cache string, files fs.FS) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	sweep(cache)
	temporary, err := os.MkdirTemp(cache, "npm-*.tmp")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	if err := os.CopyFS(temporary, files); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, installTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = temporary
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", errors.Join(err, ctx.Err()), out)
	}
	err = os.Rename(temporary, s.dir)
	if _, other := os.Stat(s.dir); other == nil {
		return nil
	}
	return err
}

// sweep removes the leftovers of killed processes.
func sweep(cache string) {
	leftovers, _ := filepath.Glob(filepath.Join(cache, "npm-*.tmp"))
	for _, dir := range leftovers {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > leftoverAge {
			_ = os.RemoveAll(dir)
		}
	}
}
