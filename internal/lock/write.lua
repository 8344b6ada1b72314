-- Prelude of the write lock's acquire: whose turn it is. After holds.lua, queue.lua and readwrite.lua.

-- turn returns nil when the owner of an acquire may write, else the answer that he must wait, and then he has a place;
-- or that he must not, because he reads: he would wait for himself. He may if nobody reads or writes and nobody came
-- before him, or if he writes already.
local function turn(now)
  prune(now)
  local owner = redis.call('HGET', KEYS[7], 'owner')
  if owner ~= ARGV[1] and reads(ARGV[1], now) then
    return {-2, 0} -- he gives up a place that he has, and that wakes whose turn it is then
  end
  local taken = math.max(redis.call('PTTL', KEYS[7]), redis.call('PTTL', KEYS[8])) -- -2: neither is there
  if owner == ARGV[1] or taken == -2 and not ahead(KEYS[4]) and not ahead(KEYS[6]) then
    vacate(ARGV[4])
    return nil
  end
  line_up(KEYS[4], now)
  return {0, taken == -2 and tonumber(ARGV[5]) or taken}
end
