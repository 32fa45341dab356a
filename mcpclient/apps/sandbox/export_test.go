package sandbox

// Policy is for tests.
var Policy = policy
