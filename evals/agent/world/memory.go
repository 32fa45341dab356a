package world

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/evals/agent/suite"
)

// graph is the state of the server memory.
type graph struct {
	place *place

	Entities  []*entity  `json:"entities"`
	Relations []relation `json:"relations"`
}

type entity struct {
	Name         string   `json:"name"`
	Type         string   `json:"entityType"`
	Observations []string `json:"observations"`
}

type relation struct {
	From string `json:"from"`
	To   string `json:"to"`
	Type string `json:"relationType"`
}

const (
	entitiesSchema     = `{"type":"object","properties":{"entities":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"entityType":{"type":"string"},"observations":{"type":"array","items":{"type":"string"}}},"required":["name","entityType","observations"]}}},"required":["entities"]}`
	relationsSchema    = `{"type":"object","properties":{"relations":{"type":"array","items":{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"},"relationType":{"type":"string"}},"required":["from","to","relationType"]}}},"required":["relations"]}`
	observationsSchema = `{"type":"object","properties":{"entityName":{"type":"string"},"contents":{"type":"array","items":{"type":"string"}}},"required":["entityName","contents"]}`
	namesSchema        = `{"type":"object","properties":{"entityNames":{"type":"array","items":{"type":"string"}}},"required":["entityNames"]}`
)

// memory seeds a graph: entities and relations.
func memory(p *place, s *suite.Server) ([]tool, error) {
	g := &graph{place: p, Entities: []*entity{}, Relations: []relation{}}
	seed, err := json.Marshal(s.Seed)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(seed, g); err != nil {
		return nil, err
	}
	return []tool{
		{name: "create_entities", about: "Adds entities to the graph.", schema: entitiesSchema, writes: true, run: g.create},
		{name: "create_relations", about: "Adds relations between entities, in active voice.", schema: relationsSchema, writes: true, run: g.relate},
		{name: "add_observations", about: "Adds what is known of an entity.", schema: observationsSchema, writes: true, run: g.observe},
		{name: "delete_entities", about: "Deletes entities and their relations.", schema: namesSchema, writes: true, run: g.forget},
		{name: "read_graph", about: "Reads the whole graph.", schema: object(), run: func(*call) (string, error) { return g.text(g.Entities, g.Relations) }},
		{name: "search_nodes", about: "Finds entities by a word in their name, type or observations.", schema: object("query"), run: g.search},
	}, g.place.keep(g)
}

func (g *graph) text(entities []*entity, relations []relation) (string, error) {
	data, err := json.Marshal(map[string]any{"entities": entities, "relations": relations})
	return string(data), err
}

// arguments decodes the arguments of a call.
func (c *call) arguments(v any) error {
	data, err := json.Marshal(c.args)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

func (g *graph) find(name string) *entity {
	for _, e := range g.Entities {
		if e.Name == name {
			return e
		}
	}
	return nil
}

func (g *graph) create(c *call) (string, error) {
	var in struct{ Entities []*entity }
	if err := c.arguments(&in); err != nil {
		return "", err
	}
	for _, e := range in.Entities {
		if g.find(e.Name) == nil {
			g.Entities = append(g.Entities, e)
		}
	}
	return "created", g.place.keep(g)
}

func (g *graph) relate(c *call) (string, error) {
	var in struct{ Relations []relation }
	if err := c.arguments(&in); err != nil {
		return "", err
	}
	for _, r := range in.Relations {
		if g.find(r.From) == nil || g.find(r.To) == nil {
			return "", fmt.Errorf("there is no entity %q or no entity %q", r.From, r.To)
		}
		if !slices.Contains(g.Relations, r) {
			g.Relations = append(g.Relations, r)
		}
	}
	return "created", g.place.keep(g)
}

func (g *graph) observe(c *call) (string, error) {
	var in struct {
		EntityName string
		Contents   []string
	}
	if err := c.arguments(&in); err != nil {
		return "", err
	}
	e := g.find(in.EntityName)
	if e == nil {
		return "", fmt.Errorf("there is no entity %q", in.EntityName)
	}
	e.Observations = append(e.Observations, in.Contents...)
	return "added", g.place.keep(g)
}

func (g *graph) forget(c *call) (string, error) {
	var in struct{ EntityNames []string }
	if err := c.arguments(&in); err != nil {
		return "", err
	}
	if len(in.EntityNames) == 0 {
		return "", errors.New("no entity is named")
	}
	g.Entities = slices.DeleteFunc(g.Entities, func(e *entity) bool { return slices.Contains(in.EntityNames, e.Name) })
	g.Relations = slices.DeleteFunc(g.Relations, func(r relation) bool {
		return slices.Contains(in.EntityNames, r.From) || slices.Contains(in.EntityNames, r.To)
	})
	return "deleted", g.place.keep(g)
}

func (g *graph) search(c *call) (string, error) {
	word, found := strings.ToLower(c.text("query")), []*entity{}
	for _, e := range g.Entities {
		if strings.Contains(strings.ToLower(e.Name+" "+e.Type+" "+strings.Join(e.Observations, " ")), word) {
			found = append(found, e)
		}
	}
	return g.text(found, nil)
}
