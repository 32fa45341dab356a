// Retrieval measures how well a search finds tools by the words of people, on the files of LiveMCPBench (Apache-2.0,
// https://github.com/icip-cas/LiveMCPBench):
//
//	go run ./evals/retrieval -tools tools/LiveMCPTool/tools.json -tasks annotated_data/all_annotations.json
//
// A task counts if it has as many steps as tools. Of these steps, those count whose tool is in the file of tools. The
// index is tuned on the odd tasks, and measured on the even ones.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func main() {
	tools := flag.String("tools", "", "`file` of the tools of LiveMCPBench")
	tasks := flag.String("tasks", "", "`file` of its annotated tasks")
	flag.Parse()
	if flag.NArg() > 0 || *tools == "" || *tasks == "" {
		fmt.Fprintln(os.Stderr, "retrieval: want -tools FILE and -tasks FILE")
		os.Exit(2)
	}
	if err := measure(*tools, *tasks, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "retrieval:", err)
		os.Exit(1)
	}
}

// count records how well the tools of steps were found.
type count struct {
	steps      int
	within     [11]float64 // by rank: number of steps whose tool had this rank or a better one
	reciprocal float64     // the sum of 1/rank
}

// add adds a step whose tool has a rank; 0: it is not among the first ten.
func (c *count) add(rank int) {
	c.steps++
	if rank == 0 {
		return
	}
	c.reciprocal += 1 / float64(rank)
	for at := rank; at < len(c.within); at++ {
		c.within[at]++
	}
}

func (c *count) String() string {
	n, at := max(1, float64(c.steps)), &c.within
	return fmt.Sprintf("%d steps: @1 %.3f, @3 %.3f, @5 %.3f, @10 %.3f, MRR@10 %.3f", c.steps, at[1]/n, at[3]/n, at[5]/n, at[10]/n, c.reciprocal/n)
}

// measure searches for the tool of each step, and prints how well the odd and the even tasks did.
func measure(toolsFile, tasksFile string, out io.Writer) error {
	catalog, err := readCatalog(toolsFile)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, t := range catalog.Tools() {
		known[t.Definition().Name] = true
	}
	var tasks []struct {
		Annotated struct{ Steps, Tools string } `json:"Annotator Metadata"`
	}
	if err := read(tasksFile, &tasks); err != nil {
		return err
	}
	var odd, even count
	for i, task := range tasks {
		steps, tools := items(task.Annotated.Steps), items(task.Annotated.Tools)
		if len(steps) != len(tools) {
			continue
		}
		counted := &odd // the first one is 1
		if i%2 == 1 {
			counted = &even
		}
		for j, step := range steps {
			if known[tools[j]] {
				found := catalog.Search(step, 10)
				counted.add(1 + slices.IndexFunc(found, func(t *adapter.Tool) bool { return t.Definition().Name == tools[j] }))
			}
		}
	}
	_, err = fmt.Fprintf(out, "%d tools\nodd tasks, %v\neven tasks, %v\n", len(catalog.Tools()), &odd, &even)
	return err
}

// readCatalog reads the tools of all servers. Their calls do nothing.
func readCatalog(file string) (*adapter.Catalog, error) {
	var servers []struct {
		Tools map[string]struct{ Tools []*mcp.Tool }
	}
	if err := read(file, &servers); err != nil {
		return nil, err
	}
	var all []adapter.Source
	for _, s := range servers {
		for _, label := range slices.Sorted(maps.Keys(s.Tools)) {
			for _, def := range s.Tools[label].Tools {
				tool, err := adapter.NewFuncTool(def, nothing, &adapter.FuncOptions{Server: label})
				if err != nil { // its schema is invalid: the words of its parameters are not indexed
					def.InputSchema = json.RawMessage(`{"type":"object"}`)
					tool, err = adapter.NewFuncTool(def, nothing, &adapter.FuncOptions{Server: label})
				}
				if err != nil {
					return nil, fmt.Errorf("server %q: %w", label, err)
				}
				all = append(all, tool)
			}
		}
	}
	return adapter.Merge(all...).Catalog(profile.Plain), nil
}

func nothing(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return nil, nil }

func read(file string, to any) error {
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return nil
}

var number = regexp.MustCompile(`^\d+[.)]\s*`)

// items are the lines of a numbered list.
func items(list string) (out []string) {
	for line := range strings.Lines(list) {
		if item := strings.TrimSpace(number.ReplaceAllString(strings.TrimSpace(line), "")); item != "" {
			out = append(out, item)
		}
	}
	return out
}
