package startup

import "fmt"

// EnvName is the file a worker may read to learn its round, in the syntax of a shell and of an environment file.
const EnvName = "round.env"

// Env is the content of the file. No two rounds of a JobSet share a rendezvous ID, so that processes of different rounds
// never meet.
func Env(jobSetUID string, epoch, round int64) []byte {
	return fmt.Appendf(nil, "HOLDFAST_RESTART_EPOCH=%d\nHOLDFAST_RESTART_ROUND=%d\nHOLDFAST_RENDEZVOUS_ID=%s-%d-%d\n",
		epoch, round, jobSetUID, epoch, round)
}

// SaveEnv writes the file.
func SaveEnv(dir, jobSetUID string, epoch, round int64) error {
	return write(dir, EnvName, Env(jobSetUID, epoch, round))
}
