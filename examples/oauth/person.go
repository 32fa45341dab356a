package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// person signs in at a terminal.
type person struct {
	in   *bufio.Reader
	out  io.Writer
	open func(ctx context.Context, url string) error // in a browser
}

// browser signs in with a browser on this machine.
func (p *person) browser() oauth.Receiver { return oauth.Loopback(p.offerToOpen, 0) }

// paste signs in with a browser on another device.
func (p *person) paste() oauth.Receiver { return oauth.Paste(p.askForAddress) }

// offerToOpen shows an address, and opens it if the person agrees.
func (p *person) offerToOpen(ctx context.Context, url string) error {
	if err := p.showLink("The server wants you to sign in at", url); err != nil {
		return err
	}
	answer, err := p.ask("Open it in the browser? [Y/n] ")
	if err != nil || strings.HasPrefix(strings.ToLower(answer), "n") || p.open(ctx, url) != nil {
		fmt.Fprintln(p.out, "\nOpen it yourself. Waiting …")
	}
	return nil
}

// askForAddress shows an address, and returns the one that the person copies from the last page.
func (p *person) askForAddress(_ context.Context, url string) (string, error) {
	if err := p.showLink("On a device with a browser, sign in at", url); err != nil {
		return "", err
	}
	return p.ask("The last page will not load. Copy its whole address to here: ")
}

// showLink shows the host of a page, its whole address, and warnings. The server has chosen the address.
func (p *person) showLink(what, url string) error {
	link, err := hosttext.ParseLink(url)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s %s:\n\n  %s\n\n", what, link.Host, link.URL)
	for _, warning := range link.Warnings {
		fmt.Fprintf(p.out, "Warning: %s.\n", warning)
	}
	return nil
}

// ask returns a line of the person.
func (p *person) ask(question string) (string, error) {
	fmt.Fprint(p.out, question)
	line, err := p.in.ReadString('\n')
	if err != nil && line == "" {
		return "", errors.New("there is no answer: the input has ended")
	}
	return strings.TrimSpace(line), nil
}
