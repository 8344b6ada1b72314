-- Prelude of the reentrant lock's scripts: whose turn it is, and who is woken by a release. Follows holds.lua.

-- turn returns nil if the owner of an acquire may take the lock; otherwise the answer that it must wait, with the
-- holder.
local function turn()
  local owner = owner_of(KEYS[1])
  if owner and owner ~= ARGV[1] then
    return {0, redis.call('PTTL', KEYS[1]), owner}
  end
  return nil
end

-- wake tells the waiters that the lock is free.
local function wake(channel)
  redis.call('PUBLISH', channel, 'freed')
end

-- vacate does nothing: this kind has no places.
local function vacate()
  return false
end
