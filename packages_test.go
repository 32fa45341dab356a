package mcpchain_test

import (
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPackagesLeadOn checks that the comment of each public package names an existing guide, or
// package mcpclient.
func TestPackagesLeadOn(t *testing.T) {
	public := publicPackages(t)
	if len(public) < 20 {
		t.Fatalf("got %d packages, want all that are public", len(public))
	}
	for _, folder := range public {
		comment := packageComment(t, folder)
		leads := regexp.MustCompile(`\b(docs|examples)/[\w-]+(\.md)?\b`).FindAllString(comment, -1)
		for _, place := range leads {
			if _, err := os.Stat(place); err != nil {
				t.Errorf("%s: %v", folder, err)
			}
		}
		if len(leads) == 0 && !strings.Contains(comment, "package mcpclient") && !strings.Contains(comment, "package\nmcpclient") && folder != "." {
			t.Errorf("%s: the comment of the package leads to no guide", folder)
		}
	}
}

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
	check(t, err)
	return folders
}

// packageComment returns the package comment in a folder.
func packageComment(t *testing.T, folder string) (comment string) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	check(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
		check(t, err)
		comment += parsed.Doc.Text()
	}
	return comment
}

// maxLesson bounds the lines of a lesson, without its tests.
const maxLesson = 299

// TestLessons checks that each lesson is short, has a test, and is linked from the guides.
func TestLessons(t *testing.T) {
	lessons, err := filepath.Glob("examples/*")
	check(t, err)
	guides := read(t, "docs/README.md")
	for _, lesson := range lessons {
		if filepath.Base(lesson) == "internal" {
			continue
		}
		files, err := filepath.Glob(lesson + "/*")
		check(t, err)
		lines, tested := 0, false
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				tested = true
				continue
			}
			lines += strings.Count(read(t, file), "\n")
		}
		if lines > maxLesson || !tested || !strings.Contains(guides, filepath.ToSlash(lesson)) {
			t.Errorf("%s: got %d lines, tested %t; want at most %d lines, a test, and a row in docs/README.md", lesson, lines, tested, maxLesson)
		}
	}
}
