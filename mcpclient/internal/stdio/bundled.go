package stdio

import (
	"fmt"
	"os"
	"path/filepath"
)

// BundledPath implements mcpclient.BundledPath.
func BundledPath(name string) (string, error) {
	executable, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find %q next to the running program: %w", name, err)
	}
	return bundledPath(executable, name)
}

func bundledPath(executable, name string) (string, error) {
	if name == "" || name != filepath.Base(name) {
		return "", fmt.Errorf("find %q next to the running program: want the name of a file, without a directory", name)
	}
	dirs := []string{filepath.Dir(executable)}
	if target, err := filepath.EvalSymlinks(executable); err == nil && filepath.Dir(target) != dirs[0] {
		dirs = append(dirs, filepath.Dir(target))
	}
	for _, dir := range dirs {
		for _, file := range []string{name, name + ".exe"} {
			path := filepath.Join(dir, file)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("find %q next to the running program: no such file in %q: %w", name, dirs, os.ErrNotExist)
}
