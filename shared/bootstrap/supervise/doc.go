// Package supervise adds the supervisor of the exec driver to pods: the installer, the volumes, the command and the variables. Which
// pods get one, and whose workers they are, is for those who plan the pods. It is pure.
package supervise
