package world

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/evals/agent/suite"
)

// stub returns the tools of its seed, which return the results in the seed.
func stub(_ *stateFolder, s *suite.Server) (all []tool, err error) {
	for _, name := range slices.Sorted(maps.Keys(s.Seed)) {
		var t struct {
			Description, Result string
			InputSchema         json.RawMessage
		}
		if err := json.Unmarshal(s.Seed[name], &t); err != nil {
			return nil, err
		}
		all = append(all, tool{
			name: name, about: t.Description, schema: string(t.InputSchema), writes: true,
			run: func(*call) (string, error) { return t.Result, nil },
		})
	}
	return all, nil
}
