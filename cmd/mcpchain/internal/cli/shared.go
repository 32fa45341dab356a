package cli

import (
	"cmp"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// The titles of groups that several commands share.
const (
	GroupModel   = "Model"
	GroupServers = "Servers"
	GroupUsers   = "Users and addresses"
	GroupStore   = "Storage"
	GroupBounds  = "Limits"
	GroupLog     = "Log"
)

// ModelFlags declares the flags of a model. Their defaults may come from the environment.
func (c *Command) ModelFlags(getenv func(string) string) (f *models.Flags) {
	c.Group(GroupModel, func(set *flag.FlagSet) { f = models.Declare(set, getenv) })
	// The help must not show these values of the environment: a URL may have a password.
	for _, name := range []string{"base-url", "model"} {
		c.Lookup(name).DefValue = ""
	}
	return f
}

// NoServers is the value of -config for no servers.
const NoServers = "none"

// ConfigFlag declares -config. otherwise says what is used without it.
func (c *Command) ConfigFlag(file *string, otherwise string) {
	c.Group(GroupServers, func(set *flag.FlagSet) {
		set.StringVar(file, "config", "",
			"`file` with the servers, an mcp.json of any program, or the word none; default: "+otherwise)
	})
}

// Timeouts are the timeouts of servers.
type Timeouts struct {
	Connect time.Duration // for connecting, and for listing what the server offers
	Idle    time.Duration // for a call without an answer or progress
	Call    time.Duration // for a whole call
}

// TimeoutFlags declares -connect-timeout, -idle-timeout and -call-timeout.
func (c *Command) TimeoutFlags(t *Timeouts) {
	c.Group(GroupServers, func(set *flag.FlagSet) {
		set.DurationVar(&t.Connect, "connect-timeout", 30*time.Second,
			"`time` limit for connecting to a server and listing what it offers")
		set.DurationVar(&t.Idle, "idle-timeout", 5*time.Minute,
			"`time` without an answer or progress after which a call to a server ends")
		set.DurationVar(&t.Call, "call-timeout", time.Hour, "`time` limit for a call to a server")
	})
}

// Positive returns an error for the first of these flags that is not above 0. It panics if one of
// them is neither a time nor a number.
func (c *Command) Positive(names ...string) error {
	for _, name := range names {
		var isPositive bool
		switch v := c.Lookup(name).Value.(flag.Getter).Get().(type) {
		case time.Duration:
			isPositive = v > 0
		case int:
			isPositive = v > 0
		case int64:
			isPositive = v > 0
		case float64:
			isPositive = v > 0
		default:
			panic(fmt.Sprintf("cli: -%s is neither a time nor a number", name))
		}
		if !isPositive {
			return c.Wrong("-%s has to be above 0", name)
		}
	}
	return nil
}

// The kinds of places where runs can be kept, for [Command.StoreFlag]. They are texts of the help,
// which takes the word in backquotes as the name of the value.
const (
	StoreFile     = "a SQLite `file`"
	StoreDatabase = "a SQLite `file`, or the URL of a Postgres database"
	StoreAny      = "a SQLite `file`, a folder/ of files, or the URL of a Postgres database"
)

// StoreFlag declares -store, which says where something, such as "runs", is kept. kinds are the kinds of
// places, and file is the default, in the configuration folder. An empty place means that default.
func (c *Command) StoreFlag(place *string, what, kinds, file string) {
	c.Group(GroupStore, func(set *flag.FlagSet) {
		set.StringVar(place, "store", "",
			fmt.Sprintf("where %s are stored: %s; default %s in your configuration folder", what, kinds, file))
	})
}

// Environment returns the section on environment variables: the variables for models, and the command's own.
func Environment(own string) Section {
	return Section{"Environment", `OPENAI_MODEL, OPENAI_BASE_URL
    used if -model and -base-url are not given
ANTHROPIC_MODEL
    model of Claude's API, used if neither -model nor OPENAI_MODEL is given
OPENAI_API_KEY, ANTHROPIC_API_KEY
    API key of the model's provider; the latter for Claude's API (-model-api messages)
ANTHROPIC_BASE_URL
    URL of an endpoint for Claude's API
` + own}
}

// Place returns the path of a file in the program's configuration folder, "" if there is no such folder.
func Place(names ...string) string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(slices.Concat([]string{dir, "mcpchain"}, names)...)
}

// Files returns the section on files in the configuration folder.
func Files(text string) Section {
	return Section{"Files, in mcpchain of your configuration folder (by default ~/.config on Linux)", text}
}

// Revisions are the values of -revision: the revisions of the protocol by server. The revision of ""
// is for all other servers.
type Revisions map[string]string

// RevisionFlag declares -revision.
func (c *Command) RevisionFlag(r Revisions) {
	c.Group(GroupServers, func(set *flag.FlagSet) {
		set.Var(r, "revision", "use this `revision` of the protocol for all servers or, as server=revision, for one; may be repeated")
	})
}

// String implements [flag.Value]. It returns the default, which is empty.
func (r Revisions) String() string { return "" }

// Set implements [flag.Value]. It reads revision or server=revision.
func (r Revisions) Set(s string) error {
	at := strings.LastIndexByte(s, '=')
	server, revision := s[:max(0, at)], s[at+1:]
	if known := mcpclient.Revisions(); !slices.Contains(known, revision) {
		return fmt.Errorf("want one of %s, or server=revision", strings.Join(known, ", "))
	}
	if _, dup := r[server]; dup {
		return fmt.Errorf("%q is given twice", s)
	}
	r[server] = revision
	return nil
}

// Apply sets the revisions of servers, and replaces the revisions of the file. The error names a
// server that is not there; then nothing is set.
func (r Revisions) Apply(servers []adapter.Server) error {
	for name := range r {
		if name != "" && !slices.ContainsFunc(servers, func(s adapter.Server) bool { return s.Name == name }) {
			return fmt.Errorf("-revision: there is no server %q to connect to", name)
		}
	}
	for i := range servers {
		s := &servers[i]
		s.Revision = cmp.Or(r[s.Name], r[""], s.Revision)
	}
	return nil
}

// maxWarnings is the most warnings that a logger shows.
const maxWarnings = 50

// Warnings returns a logger that shows a person what a client tolerates of servers, such as lines that
// are not messages. show gets each line once: a server that is started twice, to find out which
// revision it speaks, may print the same twice.
func Warnings(show func(line string)) *slog.Logger {
	return slog.New(slog.NewTextHandler(&warnings{show, map[string]bool{}}, &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
				return slog.Attr{}
			}
			return a
		},
	}))
}

// warnings shows different lines of a log, up to maxWarnings.
type warnings struct {
	show func(line string)
	seen map[string]bool
}

// Write implements [io.Writer]. The handler calls it with one line at a time.
func (w *warnings) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if len(w.seen) > maxWarnings || w.seen[text] {
		return len(line), nil
	}
	w.seen[text] = true
	if len(w.seen) > maxWarnings {
		text = "more of this is not shown"
	}
	w.show("warning: " + hosttext.Line(text, 500))
	return len(line), nil
}

// Plural returns a count with an English noun that takes an s.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
