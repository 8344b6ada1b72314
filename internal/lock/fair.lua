-- Prelude of the fair lock's scripts: whose turn it is, and who is told of a release. After holds.lua and queue.lua.

-- turn returns nil when the owner of an acquire may take the lock, else the answer that he must wait; then he has a
-- place. He may if the lock is free and nobody came before him, or if he has it already.
local function turn(now)
  prune(now)
  local owner = redis.call('HGET', KEYS[1], 'owner')
  if owner == ARGV[1] or not owner and not ahead(KEYS[4]) then
    vacate(ARGV[4])
    return nil
  end
  line_up(KEYS[4], now)
  return {0, owner and redis.call('PTTL', KEYS[1]) or tonumber(ARGV[5])}
end

-- wake tells the first of the queue, if the lock is free.
local function wake(channel, now)
  prune(now)
  local first = redis.call('ZRANGE', KEYS[4], 0, 0)[1]
  if first and redis.call('EXISTS', KEYS[1]) == 0 then
    tell(channel, first)
  end
end
