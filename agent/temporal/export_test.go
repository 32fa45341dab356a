package temporal

// Patience is how long a worker waits before it asks for a held run again.
var Patience = heldWait

// State is the result of the query of a workflow, and Outcome its result.
type State = state
type Outcome = outcome
