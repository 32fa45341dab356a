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
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/mcpchain/mcpchain/internal/check"
)

// bentPhrase matches phrases that readers have to read twice, or that have idiomatic alternatives: "is not a", "again",
// "instead of", "continues". See docs/conventions.md.
var bentPhrase = regexp.MustCompile(`(?i)\b(that which|of which|of whom|hand(s|ed|ing)? on|hears? of|(is|are) as of|anew|in the place of|` +
	`(goes?|went|gone|going) on|for ever|could not be begun|(it|this|that|what|which|who) (is|are) (none|no [a-z]+))\b`)

// idiom matches idiomatic uses that bentPhrase would match.
var idiom = regexp.MustCompile(`(?i) no (longer|more|less|use|need|reason|such)\b`)

// TestPlainWords looks for bent phrases in documents and comments.
func TestPlainWords(t *testing.T) {
	for _, path := range sources(t) {
		for _, text := range prose(t, path) {
			text = withoutQuotes(strings.Join(strings.Fields(text), " "))
			for _, found := range bentPhrase.FindAllString(text, -1) {
				check.That(t, idiom.MatchString(found), "%s: %q in %q", path, found, text)
			}
		}
	}
}

// sources returns the files of the repository without test data and installed packages.
func sources(t *testing.T) (paths []string) {
	check.Must(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() && slices.Contains([]string{"testdata", "node_modules", ".git"}, d.Name()) {
			return filepath.SkipDir
		}
		if !d.IsDir() {
			paths = append(paths, filepath.ToSlash(path))
		}
		return err
	}))
	return paths
}

// prose returns the texts of a file: paragraphs of a document, or comments of code.
func prose(t *testing.T, path string) (texts []string) {
	switch filepath.Ext(path) {
	case ".md":
		document := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(read(t, path), "")
		return regexp.MustCompile(`\n\s*\n|\n\s*[-|]`).Split(document, -1)
	case ".go":
		for _, group := range parseFile(t, token.NewFileSet(), path).Comments {
			texts = append(texts, group.Text())
		}
	}
	return texts
}

// withoutQuotes removes quoted words from a text.
func withoutQuotes(text string) string {
	return regexp.MustCompile("\"[^\"]*\"|`[^`]*`").ReplaceAllString(text, "")
}

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

// TestNamesInComments checks that words such as "serverOrigin" in comments are names in their
// package, or words of strings, such as names in JSON.
func TestNamesInComments(t *testing.T) {
	known, comments := map[string]bool{}, map[string]string{} // by folder and word; by file
	note := func(folder, text string) {
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			known[folder+" "+word] = true
		}
	}
	note("", "kB macOS gRPC xAI xUnit")
	for _, path := range sources(t) {
		if filepath.Ext(path) != ".go" {
			continue
		}
		file := parseFile(t, token.NewFileSet(), path)
		for _, group := range file.Comments {
			comments[path] += group.Text() + "\n"
		}
		for n := range ast.Preorder(file) {
			if lit, ok := n.(*ast.BasicLit); ok {
				note("", lit.Value)
			} else if name, ok := n.(*ast.Ident); ok {
				known[filepath.Dir(path)+" "+name.Name] = true
			}
		}
	}
	example, name := regexp.MustCompile(`(?m)^\t.*$`), regexp.MustCompile(`(?:^|[\s(])([a-z][a-z0-9]*[A-Z]\w*)`)
	for path, text := range comments {
		for _, m := range name.FindAllStringSubmatch(withoutQuotes(example.ReplaceAllString(text, "")), -1) {
			word := m[1]
			check.That(t, known[" "+word] || known[filepath.Dir(path)+" "+word], "%s: a comment names %s, which its package does not have", path, word)
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
