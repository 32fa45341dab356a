package web

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/bounded"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/usage"
	"github.com/mcpchain/mcpchain/internal/models"
)

// about and further are what -help says before and after the flags.
const (
	about = `Serve is an agent behind a page, for several people at once. mcpchain serve -api is an HTTP service for many users.

	mcpchain serve [flags]

Flags:
`
	further = `
The guide: https://github.com/mcpchain/mcpchain/blob/main/docs/page.md
`
)

// options are what the command line says.
type options struct {
	listen     string
	origin     *url.URL // by which browsers reach the page, through a proxy; nil: the address
	database   string
	config     string // mcp.json; "": the demo servers
	userHeader string
	users      []string
	usersFile  string // users and their tokens; "": users, without proof
	userFrom   string // header of the proxies that names the user
	proxies    bounded.Addresses
	model      *models.Flags
	views      string // address of the sandbox of views; "": next to listen; "none"
	viewsFrom  string // its origin for browsers; "": by its address
	viewsLocal bool   // views may reach this machine
	processes  int    // of each server over standard input and output; 0: one for all users
	rate       int    // requests of a user that change something, a minute

	stored, tokens int           // conversations of a user, and tokens of the answer to a question
	bytes          int64         // that a user keeps
	kept           time.Duration // how long a conversation is kept after its last turn; 0: until it is deleted

	addressHeader string // in which the proxy names the browser's address

	logger *slog.Logger
}

// parseFlags reads the command line.
func parseFlags(args []string, getenv func(string) string, out io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("web", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8080", "`address` to listen on; port 0 is a free one")
	origin := flags.String("origin", "", "`URL` by which browsers reach the page through a proxy, such as https://agent.example.com")
	flags.StringVar(&o.addressHeader, "address-header", "", "`header` in which the proxy names the browser's address, as the last one; default: no proxy")
	flags.StringVar(&o.database, "db", "", "SQLite `file` of conversations and sessions; default: in the user's folder of configurations")
	flags.StringVar(&o.config, "config", "", "`mcp.json` with the servers; default: demo servers")
	flags.StringVar(&o.userHeader, "user-header", "", "`header` that tells the servers of -config over HTTP who the user is")
	users := flags.String("users", "Ada,Grace,Linus", "`names` of the demo's users, separated by commas")
	flags.StringVar(&o.usersFile, "users-file", "", "`file` with a user and a token on each line, read again at SIGHUP; default: the demo's users, without proof")
	flags.StringVar(&o.userFrom, "user-from", "", "`header` in which a proxy of -trusted-proxy names the user that it has signed in")
	proxies := flags.String("trusted-proxy", "", "`addresses` of proxies, or ranges such as 10.0.0.0/8, separated by commas: -user-from and -address-header count from there alone")
	demoSignIn := flags.Bool("demo-sign-in", false, "let everybody who reaches the page be anyone of -users, also with -origin and on other addresses than the loopback interface")
	o.model = models.Declare(flags, getenv)
	flags.StringVar(&o.views, "views", "", "`address` of the sandbox in which tools' views run, or none; default: the next port of -listen")
	flags.StringVar(&o.viewsFrom, "views-origin", "", "`origin` by which browsers reach the sandbox; default: its address")
	flags.BoolVar(&o.viewsLocal, "views-local", false, "let views reach addresses of this machine and of private networks that their servers declare")
	flags.IntVar(&o.processes, "processes", 10, "`processes` of each server over standard input and output, each for one user at a time; 0: one for all users")
	flags.IntVar(&o.rate, "rate", 120, "`requests` that change something, a minute for each user, 30 at once")
	flags.IntVar(&o.stored, "stored", 1000, "`conversations` that a user keeps")
	flags.Int64Var(&o.bytes, "bytes", 256<<20, "`bytes` that a user's conversations have")
	flags.IntVar(&o.tokens, "tokens", 500_000, "`tokens` that the answer to a question may use, its tools and sub-agents included")
	flags.DurationVar(&o.kept, "keep", 0, "`time` that a conversation is kept after its last turn, such as 2160h; default: until its user deletes it")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, about, usage.Flags(flags), further)
		return nil, err
	} else if err != nil {
		return nil, &usage.Error{Command: "serve", Reason: err.Error()}
	}
	o.users = list(*users)
	if *origin != "" {
		u, err := url.Parse(*origin)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
			return nil, fmt.Errorf("-origin %q: want a URL such as https://agent.example.com", *origin)
		}
		o.origin = &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host)}
	}
	if *proxies != "" {
		addresses, err := bounded.Parse(*proxies)
		if err != nil {
			return nil, fmt.Errorf("-trusted-proxy: %w", err)
		}
		o.proxies = addresses
	}
	switch {
	case o.userFrom != "" && o.proxies == nil:
		return nil, errors.New("-user-from needs -trusted-proxy: a header of anybody is no sign-in")
	case o.userFrom != "" && o.usersFile != "":
		return nil, errors.New("-user-from and -users-file are two sign-ins: give one")
	case o.isDemo() && !*demoSignIn && (o.origin != nil || !isLocal(o.listen)):
		return nil, errors.New("others can reach this page, and the demo's sign-in asks for no proof: give -users-file, -user-from with -trusted-proxy, or -demo-sign-in to let everybody be anyone")
	case flags.NArg() > 0:
		return nil, fmt.Errorf("the arguments %q are unknown", flags.Args())
	case o.processes < 0:
		return nil, errors.New("-processes is below 0")
	case o.stored < 1 || o.bytes < 1 || o.tokens < 1 || o.kept < 0:
		return nil, errors.New("-stored, -bytes and -tokens have to be at least 1, and -keep not below 0")
	case o.rate < 1:
		return nil, errors.New("-rate has to be at least 1")
	case len(o.users) == 0:
		return nil, errors.New("-users names no user")
	}
	if err := o.model.Complete(); err != nil {
		return nil, err
	}
	if o.database == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return nil, fmt.Errorf("there is no place for the database, name one with -db: %w", err)
		}
		o.database = filepath.Join(dir, "mcpchain", "web", "web.db")
	}
	return o, nil
}

// isDemo reports whether the sign-in asks for no proof.
func (o *options) isDemo() bool { return o.usersFile == "" && o.userFrom == "" }

// isLocal reports whether an address to listen on is of the loopback interface.
func isLocal(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	ip := net.ParseIP(host)
	return err != nil || host == "localhost" || ip != nil && ip.IsLoopback() // net.Listen has the words for an error
}

func list(text string) (out []string) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// allowedHosts are the names of the page for browsers: the address itself, the names of this machine
// for itself, and the name at the proxy.
func (o *options) allowedHosts(a net.Addr) (hosts []string) {
	_, port, err := net.SplitHostPort(a.String())
	if err == nil {
		for _, name := range []string{hostOf(a), "localhost", "127.0.0.1", "::1"} {
			hosts = append(hosts, net.JoinHostPort(name, port))
			if port == "80" { // browsers leave it out
				hosts = append(hosts, strings.TrimSuffix(net.JoinHostPort(name, port), ":80"))
			}
		}
	}
	if o.origin != nil {
		hosts = append(hosts, o.origin.Host)
	}
	return hosts
}

func hostOf(a net.Addr) string {
	host, _, _ := net.SplitHostPort(a.String()) // it has one
	return host
}

// canonical is the URL of the page for browsers on this machine, which know it by several names. Others: "".
func (o *options) canonical(a net.Addr) string {
	if o.origin != nil || !isLoopback(a) {
		return ""
	}
	return o.base(a)
}

// isSecure reports whether browsers reach the page by HTTPS.
func (o *options) isSecure() bool { return o.origin != nil && o.origin.Scheme == "https" }

// base is the URL by which browsers reach the page.
func (o *options) base(a net.Addr) string {
	if o.origin != nil {
		return o.origin.String()
	}
	return "http://" + a.String()
}
