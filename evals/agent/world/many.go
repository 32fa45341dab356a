package world

import (
	"fmt"

	"github.com/mcpchain/mcpchain/evals/agent/suite"
)

// The tools of the server many have a verb and a subject each.
var (
	verbs    = []string{"find", "count", "rank", "compare", "describe", "price", "date", "locate", "classify", "translate"}
	subjects = []string{"rivers", "lakes", "mountains", "islands", "bridges", "towers", "museums", "theatres", "stations", "harbours",
		"coins", "stamps", "maps", "books", "songs", "films", "paintings", "statues", "recipes", "wines"}
)

// many returns look-ups that differ by subject.
func many(_ *stateFolder, s *suite.Server) ([]tool, error) {
	all := make([]tool, min(s.Tools, 1000))
	for i := range all {
		verb, subject := verbs[i%len(verbs)], subjects[i/len(verbs)%len(subjects)]
		name := verb + "_" + subject
		if i >= len(verbs)*len(subjects) {
			name = fmt.Sprintf("%s_%d", name, i)
		}
		all[i] = tool{
			name: name, about: fmt.Sprintf("Can %s the %s of a country.", verb, subject), schema: object("country"),
			run: func(c *call) (string, error) { return fmt.Sprintf("%s of %s: %d", name, c.text("country"), i), nil },
		}
	}
	return all, nil
}
