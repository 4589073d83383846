package disk

// newCache connects the parts. Each part knows only the parts that it builds on.
func newCache(f *folder) *Cache {
	c := &Cache{folder: f, leases: &leases{folder: f}, keeping: &keeping{folder: f}}
	c.quota = &quota{folder: f, leases: c.leases, collect: c.collect}
	c.objects = &objects{folder: f, leases: c.leases, quota: c.quota, deleting: sharedLock{name: "cache"}}
	c.records = &records{folder: f, leases: c.leases, objects: c.objects, lock: sharedLock{name: "index"}}
	c.pins = &pins{folder: f, objects: c.objects, records: c.records}
	c.reading = &reading{folder: f, objects: c.objects, records: c.records}
	c.ingests = &ingests{folder: f, leases: c.leases, quota: c.quota, objects: c.objects}
	c.placing = &placing{folder: f, leases: c.leases, quota: c.quota, objects: c.objects, reading: c.reading}
	c.shares = &shares{folder: f, leases: c.leases, quota: c.quota, files: c}
	c.linkFolders = &linkFolders{folder: f, leases: c.leases, objects: c.objects, files: c}
	return c
}
