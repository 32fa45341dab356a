package mcpchain_test

import (
	"go/ast"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// hardPhrase matches phrases that readers have to read twice, see docs/conventions.md.
var hardPhrase = regexp.MustCompile(`(?i)\b(that which|of which|of whom|hand(s|ed|ing)? on|hears? of|(is|are) as of)\b`)

// bentPhrase matches phrases that have idiomatic alternatives: "is not a", "again", "instead of", "continues".
var bentPhrase = regexp.MustCompile(`(?i)\b(anew|in the place of|(goes?|went|gone|going) on|for ever|could not be begun|` +
	`(it|this|that|what|which|who) (is|are) (none|no [a-z]+))\b`)

// idiom matches idiomatic uses that bentPhrase would match.
var idiom = regexp.MustCompile(`(?i) no (longer|more|less|use|need|reason|such)\b`)

// Folders without phrases of bentPhrase.
var idiomaticFolders = []string{"docs", "hosttext", "sampling", "internal", "mcpclient", "adapter", "agent", "examples", "cmd"}

// TestPlainWords looks for hard phrases in documents and comments, and in the strings of programs.
func TestPlainWords(t *testing.T) {
	for _, path := range sources(t) {
		for _, text := range prose(t, path) {
			text = withoutQuotes(text)
			found := bent(path, text)
			check.That(t, found == "", "%s: %q in %q", path, found, text)
			if at := hardPhrase.FindStringIndex(text); at != nil {
				t.Errorf("%s: %q in %q", path, text[at[0]:at[1]], text[max(0, at[0]-60):min(len(text), at[1]+60)])
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

// bent returns the first match of bentPhrase in a text of such a folder, or "".
func bent(path, text string) string {
	if !slices.ContainsFunc(idiomaticFolders, func(folder string) bool { return within(path, folder) }) {
		return ""
	}
	for _, found := range bentPhrase.FindAllString(text, -1) {
		if !idiom.MatchString(found) {
			return found
		}
	}
	return ""
}

// prose returns the texts of a file, each on one line: paragraphs of a document, comments, and
// strings of code that is not a test.
func prose(t *testing.T, path string) []string {
	switch filepath.Ext(path) {
	case ".md":
		return paragraphs(read(t, path))
	case ".go":
		return textsOf(t, path)
	}
	return nil
}

func paragraphs(document string) []string {
	document = regexp.MustCompile("(?s)```.*?```").ReplaceAllString(document, "")
	var out []string
	for _, p := range regexp.MustCompile(`\n\s*\n|\n\s*[-|]`).Split(document, -1) {
		out = append(out, strings.Join(strings.Fields(p), " "))
	}
	return out
}

// textsOf returns the comments of a file of Go, and its strings unless it is a test.
func textsOf(t *testing.T, path string) []string {
	file := parseFile(t, token.NewFileSet(), path)
	var out []string
	for _, group := range file.Comments {
		out = append(out, strings.Join(strings.Fields(group.Text()), " "))
	}
	if strings.HasSuffix(path, "_test.go") {
		return out
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				out = append(out, strings.Join(strings.Fields(text), " "))
			}
		}
		return true
	})
	return out
}

// withoutQuotes removes quoted words from a text.
func withoutQuotes(text string) string {
	return regexp.MustCompile("\"[^\"]*\"|`[^`]*`").ReplaceAllString(text, "")
}
