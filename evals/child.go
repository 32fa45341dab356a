package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/evals/check"
)

// childCommand is a command that runs another program of this repository, and reads checks from its
// output.
type childCommand struct {
	kind  string
	about string
	dir   string
	argv  []string // of go
	tests bool     // it is go test -json
	read  func(line []byte) *check.Check
}

// childCommands are the commands but agent and report. They run in the root of the repository.
var childCommands = []childCommand{
	{kind: "conformance", about: "runs the official conformance suite against the client", argv: []string{"test", "-json", "-count=1", "-timeout=20m", "./evals/conformance"}, tests: true},
	{kind: "interop", about: "runs the client with servers of other projects; Node and npm for some of them, which are skipped without", argv: []string{"test", "-json", "-count=1", "-timeout=20m", "./evals/interop"}, tests: true},
	{kind: "bench", about: "measures the client beside its floors and other Go clients", argv: []string{"run", "./evals/bench", "-json"}, read: measured},
	{kind: "loop", about: "measures the loop of the agent beside other agents", dir: "evals/loop", argv: []string{"run", "."}, read: target},
	{kind: "chaos", about: "kills the processes of runs again and again, and counts effects that are lost or done twice", argv: []string{"run", "./evals/chaos"}, read: killed},
}

// childFlags are the flags of such a command.
type childFlags struct {
	results, junit string
	json, anew     bool
	rest           []string
}

func (c *childCommand) parse(args []string, notes io.Writer) (*childFlags, error) {
	f := &childFlags{}
	flags := newFlags(c.kind, "[flags] [-- flags of the program]", c.purpose(), c.statuses(), notes)
	flags.StringVar(&f.results, "results", "", "keep the results in this `file` of JSON lines; tests that have passed in it are skipped")
	flags.StringVar(&f.junit, "junit", "", "write the results to this `file` as JUnit XML")
	flags.BoolVar(&f.json, "json", false, "print the results as JSON, one a line")
	flags.BoolVar(&f.anew, "anew", false, "skip nothing")
	err := parse(flags, args)
	f.rest = flags.Args()
	return f, err
}

// purpose is what -help says above the flags.
func (c *childCommand) purpose() string {
	program := "go " + strings.Join(c.argv, " ")
	if c.dir != "" {
		program = "cd " + c.dir + " && " + program
	}
	own := program + " -help lists its flags"
	if c.tests {
		own = "it takes the flags of go test, such as -run"
	}
	return fmt.Sprintf("The command %s %s.\nIt reads the results of `%s`; %s.", c.kind, c.about, program, own)
}

func (c *childCommand) statuses() []string {
	return []string{
		"0 if nothing failed", "1 if a check failed, if there are no results, or if the program failed",
		"2 if the command line is wrong",
	}
}

// run runs the program, and fails if it does or a check fails.
func (c *childCommand) run(ctx context.Context, args []string, out, notes io.Writer) error {
	f, err := c.parse(args, notes)
	if err != nil {
		return err
	}
	if _, err := os.Stat("evals/" + c.kind); err != nil {
		return &usageError{errors.New("run it in the root of the repository")}
	}
	at := commit(ctx)
	all, err := c.before(f, at)
	if err != nil {
		return err
	}
	argv := slices.Clone(c.argv)
	if c.tests && len(all) > 0 {
		argv = append(argv, "-skip", skipped(all))
	}
	cmd := exec.CommandContext(ctx, "go", append(argv, f.rest...)...)
	cmd.Dir = cmp.Or(c.dir, ".")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = notes
	if err := cmd.Start(); err != nil {
		return err
	}
	r := &reader{childCommand: c, out: out, notes: notes, json: f.json, commit: at, output: map[string]*bytes.Buffer{}}
	if r.keep, err = begin(f.results, all); err != nil {
		_ = cmd.Process.Kill()
		return errors.Join(err, cmd.Wait())
	}
	err = r.all(stdout)
	if err != nil { // it would wait for a reader
		_ = cmd.Process.Kill()
		_ = stdout.Close() // ends the programs that it has begun, too: they write into it
	}
	err = errors.Join(err, cmd.Wait(), r.keep.Close())
	all = append(all, r.checks...)
	return errors.Join(err, writeJUnit(f.junit, all), verdict(c.kind, all, out, f.json))
}

// commit is the commit that is checked out, "" if there are changes of the program that are not in it.
func commit(ctx context.Context) string {
	changed, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", "*.go", "*.mod", "*.sum", "**/testdata/**").Output()
	if err != nil || len(changed) > 0 {
		return ""
	}
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(head))
}

// before are the tests that have passed already, at this commit.
func (c *childCommand) before(f *childFlags, commit string) ([]*check.Check, error) {
	if f.results == "" || f.anew || !c.tests || commit == "" {
		return nil, nil
	}
	data, err := os.ReadFile(f.results)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := check.Parse(data[:bytes.LastIndexByte(data, '\n')+1]) // a line may be cut by a kill
	passed := map[string]bool{}
	for _, x := range all {
		if x.Name == top(x.Name) && x.Outcome == check.Pass && x.Commit == commit {
			passed[x.Name] = true
		}
	}
	return slices.DeleteFunc(all, func(x *check.Check) bool { return !passed[top(x.Name)] }), err
}

// top is the test that a name is of.
func top(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return name
}

func skipped(all []*check.Check) string {
	var names []string
	for _, x := range all {
		if n := regexp.QuoteMeta(top(x.Name)); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// begin begins a file with the checks that are kept. Without a name nothing is written.
func begin(name string, all []*check.Check) (io.WriteCloser, error) {
	var b bytes.Buffer
	for _, x := range all {
		if err := json.NewEncoder(&b).Encode(x); err != nil {
			return nil, err
		}
	}
	if name == "" {
		name = os.DevNull
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(b.Bytes()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// writeJUnit writes checks into a file, if there is a name for it.
func writeJUnit(name string, all []*check.Check) error {
	if name == "" {
		return nil
	}
	var b bytes.Buffer
	if err := check.JUnit(&b, all); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o600)
}

// verdict counts the checks. Without any that passed or measured, or with one that failed, it is an error.
func verdict(kind string, all []*check.Check, out io.Writer, quiet bool) error {
	n := map[check.Outcome]int{}
	for _, x := range all {
		n[x.Outcome]++
	}
	if !quiet {
		fmt.Fprintf(out, "%s: %d passed, %d failed, %d skipped, %d measures\n", kind, n[check.Pass], n[check.Fail], n[check.Skip], n[""])
	}
	switch {
	case len(all) == 0:
		return fmt.Errorf("%s: there are no results", kind)
	case n[check.Fail] > 0:
		return fmt.Errorf("%s: %d of %d checks failed", kind, n[check.Fail], len(all))
	case n[check.Pass]+n[""] == 0:
		return fmt.Errorf("%s: all of %d checks were skipped", kind, len(all))
	}
	return nil
}

// reader reads the output of a program.
type reader struct {
	*childCommand
	out, notes io.Writer
	json       bool
	commit     string
	keep       io.WriteCloser
	checks     []*check.Check
	output     map[string]*bytes.Buffer // of tests
}

func (r *reader) all(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		line := lines.Bytes()
		c := r.read1(line)
		switch {
		case c != nil:
			c.Commit = r.commit
			r.checks = append(r.checks, c)
			if err := json.NewEncoder(r.keep).Encode(c); err != nil {
				return err
			}
			if r.json {
				if err := json.NewEncoder(r.out).Encode(c); err != nil {
					return err
				}
			} else if c.Outcome == check.Fail || r.tests && !strings.Contains(c.Name, "/") {
				fmt.Fprintf(r.notes, "%-4s %s %.1fs\n", c.Outcome, c.Name, c.Seconds)
			}
		case !r.tests:
			fmt.Fprintf(r.notes, "%s\n", line)
		}
	}
	return lines.Err()
}

func (r *reader) read1(line []byte) *check.Check {
	if !r.tests {
		return r.read(line)
	}
	var e struct {
		Action, Test, Output string
		Elapsed              float64
	}
	if json.Unmarshal(line, &e) != nil || e.Test == "" {
		return nil
	}
	switch e.Action {
	case "output":
		if r.output[e.Test] == nil {
			r.output[e.Test] = &bytes.Buffer{}
		}
		if b := r.output[e.Test]; b.Len() < 16<<10 {
			b.WriteString(e.Output)
		}
	case "pass", "fail", "skip":
		c := &check.Check{Kind: r.kind, Name: e.Test, Outcome: check.Outcome(e.Action), Seconds: e.Elapsed}
		if b := r.output[e.Test]; b != nil && e.Action != "pass" {
			c.Text = b.String()
		}
		delete(r.output, e.Test)
		return c
	}
	return nil
}

// measured reads a line of evals/bench.
func measured(line []byte) *check.Check {
	var all map[string]any
	if json.Unmarshal(line, &all) != nil {
		return nil
	}
	c := &check.Check{Kind: "bench", Values: map[string]float64{}}
	c.Name, _ = all["cell"].(string)
	c.Subject, _ = all["client"].(string)
	for name, v := range all {
		if n, ok := v.(float64); ok {
			c.Values[name] = n
		}
	}
	return c
}

var targetLine = regexp.MustCompile(`^(\S+)\s+(.+?)\s+(\S+(?: \S+)*) ≤ (.+?)\s+(ok|MISSED)$`)

// target reads a verdict of evals/loop: its cell, what was measured there, the figure and its limit.
func target(line []byte) *check.Check {
	text := strings.TrimSpace(string(line))
	m := targetLine.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	c := &check.Check{Kind: "loop", Name: m[1] + " " + m[2], Outcome: check.Pass, Text: m[3] + " ≤ " + m[4]}
	if m[5] != "ok" {
		c.Outcome = check.Fail
	}
	return c
}

var killedLine = regexp.MustCompile(`^(\w+) +(\d+) calls: lost (\d+) doubled (\d+) silent (\d+), in doubt (\d+)$`)

var effectLine = regexp.MustCompile(`^lost (\d+) doubled (\d+) silent (\d+)$`)

// killed reads a line of evals/chaos.
func killed(line []byte) *check.Check {
	c := &check.Check{Kind: "chaos", Name: "all", Outcome: check.Pass, Values: map[string]float64{}, Text: string(line)}
	names := []string{"lost", "doubled", "silent"}
	m := effectLine.FindStringSubmatch(c.Text)
	if m == nil {
		if m = killedLine.FindStringSubmatch(c.Text); m == nil {
			return nil
		}
		c.Name, m, names = m[1], m[1:], []string{"calls", "lost", "doubled", "silent", "doubts"}
	}
	for i, name := range names {
		c.Values[name], _ = strconv.ParseFloat(m[i+1], 64) // digits
	}
	if c.Values["lost"]+c.Values["doubled"]+c.Values["silent"] > 0 || c.Name == "keys" && c.Values["doubts"] > 0 {
		c.Outcome = check.Fail
	}
	return c
}
