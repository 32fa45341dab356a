package browsertest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// TestPeopleAtOneServer has two users with two windows each, whose forms of one server over
// standard input and output are open at the same time: each answer reaches its own call. When the
// server's processes are killed, the log says so, and the next call works.
func TestPeopleAtOneServer(t *testing.T) {
	set := testenv.InstallNPM(t, os.DirFS(filepath.Join("..", "..", "..", "evals", "interop", "testdata", "npm")))
	script := set.Module("@modelcontextprotocol/server-everything/dist/index.js")
	ada := enter(t, configured(t, "everything", map[string]any{"command": set.Node(), "args": []string{script, "stdio"}})...)
	grace := ada.beside("Grace")
	all := []*person{ada, grace, ada.another(), grace.another()}
	for _, w := range all {
		w.ask("call trigger-elicitation-request {}")
	}
	for _, w := range all {
		w.click(".card.approval button", "Allow")
	}
	for _, w := range all {
		w.see(".card.form", "everything")
	}
	ada.shoot("a form of a process of one's own")
	for i, w := range all {
		w.fill("String", fmt.Sprint("Name ", i))
		w.click(".card.form button", "Send")
	}
	for i, w := range all {
		w.see(".reply .prose", fmt.Sprint("Name ", i))
	}
	check.Require(t, testenv.KillChildren(t, script) != 0, "the server has no process")
	ada.program.logs(t, "a server is lost")
	ada.program.logs(t, "a server is connected")
	ada.allow("call echo {\"message\":\"back\"}", ".reply:last-of-type .prose", "Echo: back")
}

// TestSilence has the server fall silent without the end of its connections, as a network does that has gone.
func TestSilence(t *testing.T) {
	ada := enter(t)
	ada.expectErrors("net::ERR")
	ada.see("#servers", "demo")
	check.Must(t, ada.program.cmd.Process.Signal(syscall.SIGSTOP))
	defer func() { _ = ada.program.cmd.Process.Signal(syscall.SIGCONT) }()
	ada.awaitFor(2*patience, "!document.querySelector('#offline').hidden")
	check.Must(t, ada.program.cmd.Process.Signal(syscall.SIGCONT))
	ada.gone("#offline")
	ada.ask("What is 1 plus 1?", ".reply .prose", "2")
}
