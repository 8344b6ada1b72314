-- Prelude of the write lock's acquire: whose turn it is. After readwrite.lua.

-- turn returns nil when the owner of an acquire may write, else the answer that they must wait, and then they have a
-- place; or that they must not, because they read: they would wait for themselves. They may if nobody reads or writes
-- and nobody came before them, or if they write already.
local function turn(now)
  prune(now)
  local owner = owner_of(KEYS[7])
  if owner ~= ARGV[1] then
    local own, sure = reads(ARGV[1], now)
    if own then
      return sure and {-2, 0} or {0, 1} -- one gives up a place that they have, and that wakes whose turn it is then
    end
  end
  local taken = math.max(redis.call('PTTL', KEYS[7]), redis.call('PTTL', KEYS[8])) -- -2: neither is there
  if owner == ARGV[1] or taken == -2 and not ahead(KEYS[4]) and not ahead(KEYS[6]) then
    vacate(ARGV[6])
    if owner ~= ARGV[1] then
      call_along('=', now)
    end
    return nil
  end
  return line_up(KEYS[4], now, taken == -2 and tonumber(ARGV[5]) or taken)
end
