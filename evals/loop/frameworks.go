package main

import (
	"context"
	"slices"
)

// framework is one of the compared agents.
type framework struct {
	name string
	can  func(cell) bool // whether it takes part

	// open returns an agent with the tool of the place.
	open func(context.Context, *place) (loop, error)
}

// loop is an agent that is ready to run.
type loop interface {
	// run asks the question in a new session, and returns the answer.
	run(context.Context) (string, error)

	close() error
}

// Names of frameworks.
const (
	oursName        = "ours"
	storedName      = "ours-stored"
	freshName       = "ours-fresh"
	einoName        = "eino"
	langchaingoName = "langchaingo"
	serverName      = "server-alone"
)

// frameworks are all compared frameworks.
var frameworks = slices.Concat(ourVariants, []framework{
	{einoName, everywhere, openEino},
	{langchaingoName, func(c cell) bool { return c.kind == native && c.history == 0 }, openLangchainGo},
	{serverName, func(c cell) bool { return c.kind == gosdk }, openServerAlone},
})

func everywhere(cell) bool       { return true }
func withoutHistory(c cell) bool { return c.history == 0 }
