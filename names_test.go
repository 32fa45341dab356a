package mcpchain_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestNamesInProse checks that exported names in guides and comments of public packages, such as adapter.Policy and
// [Client.Close], exist.
func TestNamesInProse(t *testing.T) {
	public, exported := publicPackages(t), map[string]*types.Package{} // by name
	from := importerOf(exportsOf(t, public...))
	for _, folder := range public {
		pkg := check.Value(from.Import(path.Join(module, folder)))(t)
		exported[pkg.Name()] = pkg
	}
	span, name := regexp.MustCompile("`[^`\n]+`"), regexp.MustCompile(`(?:^|[^\w/."-])([a-z]+)((?:\.[A-Z]\w*)+)`)
	for _, guide := range append(glob(t, "docs/*.md"), "README.md") {
		for _, code := range span.FindAllString(read(t, guide), -1) {
			for _, m := range name.FindAllStringSubmatch(code, -1) {
				if p := exported[m[1]]; p != nil && m[1] != "host" { // which is a variable of guides, too
					check.That(t, hasName(p, m[2][1:]), "%s: %s has no %s", guide, m[1], m[2][1:])
				}
			}
		}
	}
	link := regexp.MustCompile(`\[\*?(?:([a-z]\w*)\.)?([A-Z]\w*(?:\.[A-Z]\w*)?)\]`)
	for _, folder := range public {
		for _, file := range filesOf(t, token.NewFileSet(), folder) {
			for _, comment := range file.Comments {
				for _, m := range link.FindAllStringSubmatch(comment.Text(), -1) {
					p := exported[file.Name.Name]
					if m[1] != "" {
						p = exported[m[1]]
					}
					check.That(t, p == nil || hasName(p, m[2]), "%s: [%s] is not there", folder, m[0])
				}
			}
		}
	}
}

// hasName reports whether a package has a name, such as "Client.Close".
func hasName(p *types.Package, name string) bool {
	first, rest, _ := strings.Cut(name, ".")
	o := p.Scope().Lookup(first)
	for member := range strings.SplitSeq(rest, ".") {
		if o == nil || member == "" {
			break
		}
		o, _, _ = types.LookupFieldOrMethod(o.Type(), true, p, member)
	}
	return o != nil
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
