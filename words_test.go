package mcpchain_test

import (
	"go/ast"
	"go/parser"
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

// bentPhrase matches phrases that have idiomatic alternatives: "is not a", "again", "instead
// of", "continues".
var bentPhrase = regexp.MustCompile(`(?i)\b(anew|in the place of|(goes?|went|gone|going) on|for ever|could not be begun|` +
	`(it|this|that|what|which|who) (is|are) (none|no [a-z]+))\b`)

// idiom matches idiomatic uses that bentPhrase would match.
var idiom = regexp.MustCompile(`(?i) no (longer|more|less|use|need|reason|such)\b`)

// Folders without phrases of bentPhrase.
var idiomaticFolders = []string{"docs", "hosttext", "sampling", "internal", "mcpclient", "adapter", "agent", "examples", "cmd"}

// Folders without phrases of hardPhrase.
var plainFolders = []string{".ci", "docs", "sampling", "internal", "examples", "cmd", "evals", "mcpclient",
	"agent/compact", "adapter", "agent", "agent/run", "agent/filestore", "agent/sqlstore", "agent/storetest"}

// TestPlainWords looks for hard phrases in documents and comments, and in the strings of programs.
func TestPlainWords(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		path = filepath.ToSlash(path)
		if !d.IsDir() && keepsPlainWords(path) {
			for _, text := range prose(t, path) {
				text = withoutQuotes(text)
				if found := bent(path, text); found != "" {
					t.Errorf("%s: %q in %q", path, found, text)
				}
				if at := hardPhrase.FindStringIndex(text); at != nil {
					t.Errorf("%s: %q in %q", path, text[at[0]:at[1]], text[max(0, at[0]-60):min(len(text), at[1]+60)])
				}
			}
		}
		return nil
	})
	check.Must(t, err)
}

func keepsPlainWords(path string) bool {
	in := func(folder string) bool { return within(path, folder) }
	return !strings.Contains(path, "/") || slices.ContainsFunc(plainFolders, in)
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

func textsOf(t *testing.T, path string) []string {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	check.Must(t, err)
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
