package cli

// store is where results are kept: the cache, the record of runs, the remote
// cache behind them and the network that data are fetched from.
type store struct {
	*terminal

	cacheDir string
	// remoteCache is the address of the remote cache, or empty.
	remoteCache string
	// network are the flags of commands that fetch data.
	network networkFlags
}
