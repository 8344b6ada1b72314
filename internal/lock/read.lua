-- Prelude of the read lock's acquire: whose turn it is. After readers.lua, queue.lua and readwrite.lua.

-- turn returns nil when the owner of an acquire may read, else the answer that he must wait; then he has a place. He
-- may if nobody writes and no writer came before him, or if he reads or writes already.
local function turn(now)
  prune(now)
  local owner = redis.call('HGET', KEYS[7], 'owner')
  if owner == ARGV[1] or not owner and (not ahead(KEYS[4]) or reads(ARGV[1], now)) then
    vacate(ARGV[4])
    return nil
  end
  line_up(KEYS[6], now)
  return {0, owner and redis.call('PTTL', KEYS[7]) or tonumber(ARGV[5])}
end
