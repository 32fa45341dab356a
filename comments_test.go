package mcpchain_test

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

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
			if word := m[1]; !known[" "+word] && !known[filepath.Dir(path)+" "+word] {
				t.Errorf("%s: a comment names %s, which its package does not have", path, word)
			}
		}
	}
}
