package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/check"
	"github.com/mcpchain/mcpchain/evals/report"
)

// reportCommand writes the page of files of results.
func reportCommand(args []string, notes io.Writer) error {
	flags := newFlags("report", "[flags] results.jsonl ...",
		"Report writes one page of HTML from files of results that the other commands have kept by -results.",
		[]string{"0 if the page is written", "1 if a file cannot be read or written", "2 if the command line is wrong"}, notes)
	name := flags.String("o", "evals.html", "write the page to this `file`")
	if err := parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return &usageError{errors.New("report: name the files of results that the other commands have kept, see -results")}
	}
	d := &report.Data{Date: time.Now()}
	for _, file := range flags.Args() {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if bytes.Contains(data, []byte(`"suite_hash":`)) {
			lines, err := results.Parse(data)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			d.Trials = append(d.Trials, lines...)
			continue
		}
		all, err := check.Parse(data)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		d.Checks = append(d.Checks, all...)
	}
	var page bytes.Buffer
	if err := report.Write(&page, d); err != nil {
		return err
	}
	if err := os.WriteFile(*name, page.Bytes(), 0o600); err != nil {
		return err
	}
	fmt.Fprintf(notes, "%s has %d checks and %d trials\n", *name, len(d.Checks), len(d.Trials))
	return nil
}
