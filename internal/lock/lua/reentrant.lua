-- Prelude of the reentrant lock's scripts: whose turn it is, and who is told of a release. After holds.lua.

-- turn returns nil when the owner of an acquire may take the lock, else the answer that they must wait, and for whom.
local function turn()
  local owner = owner_of(KEYS[1])
  if owner and owner ~= ARGV[1] then
    return {0, redis.call('PTTL', KEYS[1]), owner}
  end
  return nil
end

-- wake tells those who wait that the lock is free.
local function wake(channel)
  redis.call('PUBLISH', channel, 'freed')
end

-- vacate gives up the place of a request that waits: there is none.
local function vacate()
  return false
end
