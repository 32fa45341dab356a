package mcpchain_test

import (
	"encoding/json"
	"go/build"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

const module = "github.com/mcpchain/mcpchain"

// layers is the architecture: the packages that each folder may import, in addition to the
// standard library. The longest matching folder decides. A folder without a row is an error.
var layers = []struct {
	folder string
	may    []string
}{
	{"internal/jsonrpc", []string{"internal/excerpt"}},
	{"internal/sse", nil},
	{"mcpclient/internal/stdio/child", []string{"mcpclient/internal/await", "golang.org/x/sys"}},
	{"mcpclient/internal/stdio", []string{"mcpclient/internal/await", "mcpclient/internal/wire", "mcpclient/transport", "internal/jsonrpc", "internal/excerpt"}},
	{"mcpclient/internal/pipe", []string{"mcpclient/transport"}},
	{"mcpclient/internal/wire", []string{"internal/jsonrpc", "mcpclient/transport"}},
	{"mcpclient/internal/await", nil},
	{"mcpclient/internal/paramheader", []string{"internal/excerpt", "internal/jsonrpc", "internal/schema/tree", "mcpclient/internal/httptoken"}},
	{"mcpclient/internal/metakey", nil},
	{"mcpclient/internal/results", []string{"internal/excerpt", "internal/jsonrpc", "mcpclient/internal/metakey", "mcpclient/mcp"}},
	{"mcpclient/internal/lifecycle", []string{"mcpclient/internal/await", "internal/bound"}},
	{"mcpclient/internal/renewal", []string{"internal/backoff", "mcpclient/internal/lifecycle"}},
	{"mcpclient/internal/redirect", []string{"internal/reach", "mcpclient/internal/redact"}},
	{"mcpclient/internal/redact", []string{"internal/jsonrpc"}},
	{"internal/backoff", nil},
	{"internal/bound", nil},
	{"internal/excerpt", nil},
	{"mcpclient/internal/version", nil},
	{"price", nil},
	{"internal/cost", []string{"price"}},
	{"internal/testenv/fakehost", []string{"internal/testenv/memhttp", "internal/schema", "github.com/google/go-cmp"}},
	{"internal/testenv/memhttp", nil},
	{"internal/check", []string{"github.com/google/go-cmp"}},
	{"internal/testenv", []string{"golang.org/x/sys"}},
	{"internal/signin", []string{"hosttext", "mcpclient", "golang.org/x/term"}},
	{"internal/private", []string{"golang.org/x/sys"}},
	{"mcpclient/skills/internal/frontmatter", []string{"github.com/goccy/go-yaml"}},
	{"mcpclient/mcp/internal/uritemplate", nil},
	{"internal/schema/tree", nil},
	{"adapter/internal/search", nil},
	{"internal/spelling", nil},
	{"internal/doubttext", nil},
	{"mcpclient/internal/httptoken", nil},
	{"internal/reach", nil},
	{"internal/kept", []string{"internal/excerpt", "github.com/go-json-experiment/json"}},
	{"agent/internal/reminder", nil},
	{"agent/internal/subject", nil},
	{"agent/internal/media", []string{"agent/run"}},
	{"adapter/profile", nil},
	{"internal/schema/rewrite", []string{"adapter/profile", "internal/excerpt", "internal/schema"}},
	{"internal/schema", []string{"internal/excerpt", "internal/jsonrpc", "internal/schema/tree", "github.com/kaptinlin/jsonschema"}},
	{"internal/toolschema", []string{"adapter/profile", "internal/excerpt", "internal/jsonrpc", "internal/schema"}},
	{"internal/chat", []string{"adapter/profile", "internal/bound", "internal/excerpt", "internal/jsonrpc", "internal/backoff", "internal/reach", "internal/sse", "github.com/sashabaranov/go-openai"}},
	{"mcpclient/internal/mcptest", []string{"internal", "mcpclient", "golang.org/x/tools/txtar", "github.com/google/go-cmp"}},

	{"mcpclient/transport", []string{"mcpclient/internal/redact", "internal/excerpt"}},
	{"mcpclient/mcp", []string{"internal/excerpt", "internal/jsonrpc", "mcpclient/mcp/internal/uritemplate"}},
	{"mcpclient/forms", []string{"internal/excerpt", "internal/inquiry", "internal/jsonrpc", "internal/schema/tree", "mcpclient/mcp"}},
	{"internal/inquiry", []string{"internal/excerpt", "mcpclient/mcp"}},
	{"mcpclient/internal/streamable", []string{"mcpclient/internal/metakey", "mcpclient/internal/results", "mcpclient/internal/await", "mcpclient/internal/wire", "internal/backoff", "internal/excerpt", "internal/bound", "internal/jsonrpc", "mcpclient/internal/redact", "mcpclient/internal/redirect", "internal/reach", "internal/sse", "mcpclient/internal/version", "mcpclient/mcp", "mcpclient/transport"}},
	{"mcpclient", []string{"internal/inquiry", "mcpclient/internal/await", "mcpclient/internal/pipe", "mcpclient/internal/stdio", "mcpclient/internal/streamable", "mcpclient/internal/wire", "mcpclient/internal/redact", "mcpclient/internal/version", "internal/excerpt", "internal/jsonrpc", "mcpclient/internal/paramheader", "internal/sse", "internal/backoff", "internal/bound", "mcpclient/internal/lifecycle", "mcpclient/internal/metakey", "mcpclient/internal/renewal", "mcpclient/internal/results"}},
	{"mcpclient/skills", []string{"internal/excerpt", "mcpclient/skills/internal/frontmatter", "internal/jsonrpc", "mcpclient"}},
	{"mcpclient/apps/internal/source", []string{"internal/reach"}},
	{"mcpclient/apps", []string{"internal/excerpt", "internal/jsonrpc", "internal/reach", "mcpclient/apps/internal/source", "mcpclient"}},
	{"mcpclient/apps/sandbox", []string{"internal/jsonrpc", "mcpclient/apps/internal/source", "mcpclient/apps"}},
	{"mcpclient/apps/host", []string{"internal/inquiry", "internal/bound", "internal/excerpt", "internal/jsonrpc", "mcpclient/internal/version", "mcpclient"}},
	{"mcpclient/schemacheck", []string{"internal/schema", "mcpclient"}},
	{"mcpclient/config", []string{"internal/excerpt", "internal/spelling", "mcpclient"}},
	{"mcpclient/otelmcp", []string{"internal/jsonrpc", "mcpclient", "go.opentelemetry.io/otel"}},
	{"mcpclient/oauth", []string{"internal", "internal/bound", "mcpclient/internal/redact", "mcpclient/internal/redirect", "mcpclient/mcp", "github.com/golang-jwt/jwt/v5", "golang.org/x/oauth2", "golang.org/x/sys"}},

	{"hosttext", []string{"internal/reach", "mcpclient/mcp"}},
	{"sampling", []string{"internal/inquiry", "internal/chat", "internal/excerpt", "internal/jsonrpc", "internal/cost", "price", "internal/toolschema", "internal/schema", "mcpclient/mcp", "github.com/sashabaranov/go-openai"}},
	{"adapter/approval", []string{"internal/excerpt", "internal/private", "mcpclient/mcp", "github.com/tmc/langchaingo"}},
	{"internal/caller", []string{"adapter/approval", "mcpclient/mcp"}},
	{"adapter", []string{"adapter/approval", "adapter/profile", "internal/bound", "internal/caller", "internal/doubttext", "internal/excerpt", "internal/inquiry", "internal/kept", "internal/jsonrpc", "adapter/internal/search", "internal/schema", "internal/toolschema", "internal/backoff", "internal/private", "mcpclient", "github.com/tmc/langchaingo"}},
	{"adapter/langchain", []string{"internal/jsonrpc", "internal/excerpt", "internal/schema", "internal/toolschema", "adapter", "mcpclient", "github.com/tmc/langchaingo"}},
	{"agent", []string{"internal/inquiry", "internal/bound", "internal/caller", "internal/doubttext", "internal/excerpt", "internal/backoff", "internal/cost", "internal/jsonrpc", "internal/ledger", "internal/replydata", "price", "internal/kept", "agent/internal/billing", "agent/internal/media", "agent/internal/reminder", "agent/internal/returned", "internal/toolschema", "adapter", "mcpclient", "github.com/tmc/langchaingo"}},
	{"agent/agenttest", []string{"agent/internal/reminder", "agent/model", "agent/run", "mcpclient"}},
	{"agent/internal/billing", []string{"internal/cost", "price", "agent/model", "agent/run"}},
	{"agent/compact", []string{"agent/internal/billing", "agent/internal/returned", "internal/excerpt", "internal/ledger", "price", "agent/model", "agent/run"}},
	{"agent/internal/returned", []string{"agent/run"}},
	{"agent/model", []string{"adapter/profile", "agent/internal/media", "agent/internal/returned", "agent/run"}},
	{"agent/lc", []string{"internal/bound", "adapter", "agent", "github.com/tmc/langchaingo"}},
	{"agent/skillset", []string{"adapter", "internal/excerpt", "mcpclient"}},
	{"agent/otelagent", []string{"agent", "internal/excerpt", "internal/jsonrpc", "go.opentelemetry.io/otel"}},
	{"internal/replydata", []string{"internal/inquiry", "mcpclient/forms", "mcpclient/mcp"}},
	{"agent/run", []string{"internal/jsonrpc", "internal/replydata", "mcpclient/forms", "internal/schema", "mcpclient/mcp", "github.com/go-json-experiment/json"}},
	{"internal/ledger", []string{"agent/run", "internal/doubttext", "internal/replydata", "mcpclient/mcp", "github.com/go-json-experiment/json"}},
	{"internal/ledger/ledgertest", []string{"agent/run", "internal/ledger"}},
	{"agent/run/record", []string{"agent/run", "agent/internal/subject", "internal/ledger"}},
	{"agent/filestore", []string{"agent/run", "internal/ledger", "internal/private", "agent/internal/subject", "github.com/go-json-experiment/json"}},
	{"agent/sqlstore", []string{"internal/backoff", "internal/ledger", "agent/internal/subject", "agent/run", "github.com/go-json-experiment/json"}},
	{"agent/storetest", []string{"agent/run", "internal/ledger", "github.com/go-json-experiment/json"}},
	{"agent/temporal", []string{"agent", "internal/ledger", "go.temporal.io"}},
	{"agent/internal/hostfail", []string{"agent/internal/convert", "agent/model", "agent/run", "internal/chat", "github.com/tmc/langchaingo"}},
	{"agent/internal/convert", []string{"agent/internal/media", "agent/model", "agent/run", "internal/jsonrpc", "github.com/tmc/langchaingo"}},
	{"agent/anthropicmodel", []string{"adapter/profile", "agent/internal/convert", "agent/internal/hostfail", "github.com/tmc/langchaingo", "agent/model", "agent/run", "internal/chat", "internal/excerpt", "internal/jsonrpc"}},
	{"agent/openaimodel", []string{"adapter/profile", "agent/internal/convert", "agent/internal/hostfail", "sampling", "internal/jsonrpc", "agent/model", "agent/run", "internal/chat", "github.com/tmc/langchaingo", "github.com/sashabaranov/go-openai"}},

	{"internal/eventfeed", []string{"agent"}},
	{"agent/feed", []string{"agent", "internal/eventfeed"}},
	{"internal/tryout", []string{"", "github.com"}},
	{"internal/models", []string{"adapter", "agent", "hosttext", "internal/chat", "internal/cost", "internal/spelling", "price", "sampling", "github.com/go-json-experiment/json", "github.com/sashabaranov/go-openai"}},
	{"internal/testenv/peer", []string{"internal", "mcpclient", "github.com"}},
	{"examples", []string{"", "github.com", "golang.org"}},
	{"cmd", []string{"", "charm.land", "github.com", "go.temporal.io", "golang.org", "modernc.org"}},
	{"evals", []string{"", "github.com", "golang.org", "modernc.org"}},
	{"evals/temporal", []string{"", "github.com", "go.temporal.io", "modernc.org"}},
	{"evals/loop", []string{"", "github.com"}},
	{".", []string{"adapter", "agent", "hosttext", "internal/signin", "mcpclient", "sampling"}},
}

func TestArchitecture(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); name == "testdata" || path != "." && strings.HasPrefix(name, ".") {
			return filepath.SkipDir
		}
		pkg, err := build.ImportDir(path, 0)
		if err != nil {
			if _, none := err.(*build.NoGoError); none {
				return nil
			}
			return err
		}
		checkImports(t, filepath.ToSlash(path), pkg.Imports)
		return nil
	})
	check.Must(t, err)
}

func checkImports(t *testing.T, folder string, imports []string) {
	best := -1
	for i, l := range layers {
		if within(folder, l.folder) && (best < 0 || len(l.folder) > len(layers[best].folder)) {
			best = i
		}
	}
	if best < 0 {
		t.Errorf("%s stands in no row of the architecture", folder)
		return
	}
	for _, path := range imports {
		path, ours := strings.CutPrefix(path, module+"/")
		standard := !ours && !strings.Contains(strings.Split(path, "/")[0], ".")
		allowed := slices.ContainsFunc(layers[best].may, func(may string) bool { return within(path, may) && (may != "" || ours) })
		check.That(t, standard || allowed || within(path, layers[best].folder), "%s imports %s, which its layer does not", folder, path)
	}
}

// within reports whether path is folder or below it.
func within(path, folder string) bool {
	return folder == "" || path == folder || strings.HasPrefix(path, folder+"/")
}

// linked returns the packages that some packages need, and these.
func linked(t *testing.T, packages ...string) []string {
	t.Helper()
	all := strings.Fields(string(check.Value(exec.Command("go", append([]string{"list", "-deps"}, packages...)...).Output())(t)))
	check.Require(t, len(all) >= 20, "got %q, want more", all)
	return all
}

// TestClientIsLight checks that a program that only connects and calls links neither a schema compiler nor a YAML parser.
func TestClientIsLight(t *testing.T) {
	for _, path := range linked(t, "./mcpclient") {
		ours, vendored := within(path, module), strings.HasPrefix(path, "vendor/")
		host, _, _ := strings.Cut(path, "/")
		check.That(t, !strings.Contains(host, ".") || ours || vendored || within(path, "golang.org/x/sys"), "mcpclient links %s", path)
	}
}

// TestInstallable checks that go.mod has nothing that go install refuses in the module of a program.
func TestInstallable(t *testing.T) {
	out, err := exec.Command("go", "mod", "edit", "-json").Output()
	var mod struct{ Replace, Exclude []any }
	if err == nil {
		err = json.Unmarshal(out, &mod)
	}
	check.That(t, err == nil && len(mod.Replace)+len(mod.Exclude) == 0, "got %+v, %v, want neither replace nor exclude", mod, err)
}

// TestStoreLinksNoDriver checks that the packages link neither a database driver nor, except for
// examples, a terminal library.
func TestStoreLinksNoDriver(t *testing.T) {
	for _, path := range linked(t, "./agent", "./agent/sqlstore") {
		check.That(t, !within(path, "modernc.org") && !within(path, "github.com/jackc") && !within(path, "charm.land") && !within(path, "github.com/charmbracelet"), "an agent links %s", path)
	}
}

// TestOwnWords checks that the repository has no paths of a machine and no hosts of package registries.
func TestOwnWords(t *testing.T) {
	unwanted := []string{"registry." + "npmjs.org", "proxy." + "golang.org", "/ro" + "ot/", "/wo" + "rk/"}
	check.Must(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || slices.Contains([]string{".git", ".env", "mcp.json"}, path): // of a work tree, and of who works in it
			return nil
		}
		text := read(t, path)
		for _, w := range unwanted {
			isProgram := strings.Contains(text, "\x00") // that was built here
			check.That(t, isProgram || !strings.Contains(text, w), "%s contains %q", path, w)
		}
		return nil
	}))
}
