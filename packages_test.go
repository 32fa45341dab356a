package mcpchain_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// publicPackages returns the folders of packages that other modules may import.
func publicPackages(t *testing.T) (folders []string) {
	err := filepath.WalkDir(".", func(folder string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if regexp.MustCompile(`^(examples|evals|cmd|docs)$|^(internal|testdata|node_modules|\..+)$`).MatchString(d.Name()) {
			return filepath.SkipDir
		}
		if _, err := build.ImportDir(folder, 0); err == nil {
			folders = append(folders, filepath.ToSlash(folder))
		}
		return nil
	})
	check.Must(t, err)
	return folders
}

// filesOf parses the files of a package without its tests.
func filesOf(t *testing.T, set *token.FileSet, folder string) (files []*ast.File) {
	t.Helper()
	for _, path := range glob(t, filepath.Join(folder, "*.go")) {
		if !strings.HasSuffix(path, "_test.go") {
			files = append(files, parseFile(t, set, path))
		}
	}
	return files
}

func parseFile(t *testing.T, set *token.FileSet, path string) *ast.File {
	t.Helper()
	return check.Value(parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution))(t)
}

// maxLesson bounds the lines of a lesson, without its tests.
const maxLesson = 299

// TestLessons checks that each lesson is short, has a test, and is linked from the guides.
func TestLessons(t *testing.T) {
	guides := read(t, "docs/README.md")
	for _, lesson := range glob(t, "examples/*") {
		if filepath.Base(lesson) == "internal" {
			continue
		}
		lines, tested := 0, false
		for _, file := range glob(t, lesson+"/*") {
			if strings.HasSuffix(file, "_test.go") {
				tested = true
			} else {
				lines += strings.Count(read(t, file), "\n")
			}
		}
		check.That(t, lines <= maxLesson && tested && strings.Contains(guides, filepath.ToSlash(lesson)),
			"%s: got %d lines, tested %t; want at most %d lines, a test, and a row in docs/README.md", lesson, lines, tested, maxLesson)
	}
}
