package talk

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
)

// fileItems completes the path of a file.
func fileItems(typed string) (items []screen.Item) {
	dir, base := filepath.Split(typed)
	folder := cmp.Or(expandHome(dir), ".")
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") != strings.HasPrefix(base, ".") || !strings.Contains(strings.ToLower(name), strings.ToLower(base)) {
			continue
		}
		if len(items) >= maxCompleted {
			break
		}
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil && info.IsDir() {
			items = addItem(items, dir+name+"/", "", true)
		} else if err == nil && info.Mode().IsRegular() {
			items = addItem(items, dir+name, formatSize(info.Size()), false)
		}
	}
	return items
}

// expandHome replaces a leading ~ by the home folder.
func expandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if dir, err := os.UserHomeDir(); err == nil {
			return filepath.Join(dir, rest)
		}
	}
	return path
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

// formatSize formats a number of bytes, such as 1.5 KiB.
func formatSize(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
