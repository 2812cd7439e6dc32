package startup

import "fmt"

// EnvName is the file from which a worker can read its round. A shell and an env file parser can read it.
const EnvName = "round.env"

// Env returns the content of the file. Each round of a JobSet has its own rendezvous ID, so that processes of different
// rounds never meet.
func Env(jobSetUID string, epoch, round int64) []byte {
	return fmt.Appendf(nil, "HOLDFAST_RESTART_EPOCH=%d\nHOLDFAST_RESTART_ROUND=%d\nHOLDFAST_RENDEZVOUS_ID=%s-%d-%d\n",
		epoch, round, jobSetUID, epoch, round)
}

// SaveEnv writes the file.
func SaveEnv(dir, jobSetUID string, epoch, round int64) error {
	return write(dir, EnvName, Env(jobSetUID, epoch, round))
}
