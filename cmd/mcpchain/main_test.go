package main

import (
	"flag"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/demo"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/service"
	"github.com/mcpchain/mcpchain/internal/check"
)

const asProgram = "MCPCHAIN_TEST_PROGRAM"

// TestMain turns the test binary into the program, by the environment.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" || len(os.Args) > 1 && os.Args[1] == demo.Name { // a server does not get the environment
		main()
	}
	os.Exit(m.Run())
}

func mcpchain(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = []string{asProgram + "=1", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	var out, errs strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	_ = cmd.Run() // the status says how it ended
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// TestCommands runs each command: its help is on standard output, and a wrong flag is told in one form.
func TestCommands(t *testing.T) {
	for args, begin := range map[string]string{
		"chat": "chat:", "inspect": "inspect:", "serve": "serve:", "serve -api": "serve -api:", "serve -temporal localhost:1": "serve -api:",
		"serve -api=true": "serve -api:", "serve -api=false": "serve:", "serve --api -api=0": "serve:", "runs list": "runs:", "demo": "demo:", "demo model": "demo:",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(args)
			status, out, errs := mcpchain(t, "", append(words, "-help")...)
			check.That(t, status == 0 && strings.HasPrefix(out, "mcpchain "+begin) && errs == "", "-help: got %d, %q, %q, want 0 and the help of %q", status, out, errs, begin)
			status, out, errs = mcpchain(t, "", append(words, "-nonsense")...)
			wrong := regexp.MustCompile(`^mcpchain: there is no flag -nonsense; mcpchain [a-z -]+-help lists the flags\n$`)
			check.That(t, status == 2 && out == "" && wrong.MatchString(errs), "-nonsense: got %d, %q, %q, want 2 and what is wrong", status, out, errs)
		})
	}
}

// TestProgram looks at the program without a command, and at what it says of itself.
func TestProgram(t *testing.T) {
	for name, tt := range map[string]struct {
		args, stdin string
		status      int
		out, errs   string // begins so
	}{
		"chat is the default":  {"-yes", "What is 17 plus 25?\n", 0, "The result: 17 + 25 = 42.", ""},
		"help":                 {"help", "", 0, "mcpchain connects models", ""},
		"flag for help":        {"--help", "", 0, "mcpchain connects models", ""},
		"help of help":         {"help -help", "", 0, "mcpchain connects models", ""},
		"help of a command":    {"help inspect", "", 0, "mcpchain inspect: ", ""},
		"version":              {"-version", "", 0, "mcpchain ", ""},
		"help of version":      {"version -help", "", 0, "mcpchain version: print the version", ""},
		"version of what":      {"version now", "", 2, "", `mcpchain: unexpected argument "now"`},
		"mistyped":             {"inspekt", "", 2, "", `mcpchain: there is no command "inspekt" (did you mean "inspect"?); mcpchain help lists the commands`},
		"unknown":              {"help quux12345", "", 2, "", `mcpchain: there is no command "quux12345"; mcpchain help lists the commands` + "\n"},
		"a file":               {"main.go", "", 2, "", `mcpchain: there is no command "main.go": to use a file of servers, mcpchain chat -config FILE, or mcpchain inspect FILE; mcpchain help`},
		"demo of what":         {"demo model x", "", 2, "", `mcpchain: unexpected argument "x"`},
		"completion":           {"completion bash", "", 0, "_mcpchain() {", ""},
		"unknown shell":        {"completion ksh", "", 2, "", "mcpchain: completion is for bash"},
		"commands":             {"complete i", "", 0, "inspect\n", ""},
		"flags of the default": {"complete -base", "", 0, "-base-url\n", ""},
		"flags of a command":   {"complete inspect mcp.json -pro", "", 0, "-profile\n-prompt\n", ""},
		"the service":          {"complete serve -ap", "", 0, "-api\n", ""},
		"flags of the service": {"complete serve -api -sear", "", 0, "-search-attributes\n", ""},
		"page or service":      {"serve -api=maybe", "", 2, "", `mcpchain: invalid boolean value "maybe" for -api: want true or false; mcpchain serve -help`},
		"commands of runs":     {"complete runs pr", "", 0, "prune\n", ""},
		"files":                {"complete inspect m", "", 0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, out, errs := mcpchain(t, tt.stdin, strings.Fields(tt.args)...)
			check.That(t, status == tt.status && strings.HasPrefix(out, tt.out) && (tt.out != "" || out == "") && strings.HasPrefix(errs, tt.errs),
				"got %d, %q, %q, want %d, %q, %q", status, out, errs, tt.status, tt.out, tt.errs)
		})
	}
}

// TestHelp looks for each command in the help.
func TestHelp(t *testing.T) {
	_, out, _ := mcpchain(t, "", "help")
	for _, name := range names() {
		check.Contains(t, "the help", out, "\n  "+name+" ")
	}
	for line := range strings.Lines(out) {
		check.That(t, len(line) <= 140, "%q is longer than a line", line)
	}
}

// TestOneSetOfFlags holds flags of several commands against each other: one name has one default and one text.
func TestOneSetOfFlags(t *testing.T) {
	own := map[string]string{ // these differ in
		"config": "what is used without it", "model": "one that answers, or whose definitions are shown", "store": "what is kept", "keep": "runs or conversations", "stored": "runs or conversations", "rate": "requests that change something, or all", "json": "a report or turns", "prompt": "one of a server, or a question",
	}
	seen := map[string]*flag.Flag{}
	for _, c := range append(slices.Concat(commands()...), service.Command()) {
		c.VisitAll(func(f *flag.Flag) {
			if first := seen[f.Name]; first != nil && own[f.Name] == "" && (first.DefValue != f.DefValue || first.Usage != f.Usage) {
				t.Errorf("-%s of %s: got %q, %q, want %q, %q, as in other commands", f.Name, c.Name, f.DefValue, f.Usage, first.DefValue, first.Usage)
			}
			seen[f.Name] = f
		})
		for _, want := range []string{"\nUsage:\n  mcpchain ", "\nExit status:\n  0 "} {
			check.Contains(t, "the help of "+c.Name, c.Help(), want)
		}
	}
	for _, name := range []string{"model", "config", "store", "users", "listen", "log", "connect-timeout"} {
		check.That(t, seen[name] != nil, "no command has -%s", name)
	}
}

// TestCompletionOfBash has bash read the script, and complete a command.
func TestCompletionOfBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	cmd := exec.CommandContext(t.Context(), bash, "--norc", "-c", scripts["bash"]+`
mcpchain() { `+os.Args[0]+` "$@"; }
COMP_WORDS=(mcpchain inspect mcp.json -prof) COMP_CWORD=3
_mcpchain
echo "${COMPREPLY[@]}"`)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out, err := cmd.CombinedOutput()
	check.That(t, err == nil && string(out) == "-profile\n", "got %q, %v, want -profile", out, err)
}
